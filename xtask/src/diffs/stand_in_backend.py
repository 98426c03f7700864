"""Answers pip's question for a source archive's metadata from the archive's own PKG-INFO.

`pip download` wants metadata and would run the package's build backend for it. Found as
`sitecustomize` on PYTHONPATH, this takes the place of whatever backend the archive names,
so that none of the package's code runs. Outside of a backend process it does nothing.
"""

import os
import sys
import types

ENV = ("_PYPROJECT_HOOKS_BUILD_BACKEND", "PEP517_BUILD_BACKEND")
ENV_PATH = ("_PYPROJECT_HOOKS_BACKEND_PATH", "PEP517_BACKEND_PATH")


def first(names):
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    with open("PKG-INFO", encoding="utf-8", errors="replace") as file:
        head = file.read().split("\n\n", 1)[0]
    fields = {}
    for line in head.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key, value.strip())
    name, version = fields["Name"], fields["Version"]
    info = "%s-%s.dist-info" % (name.replace("-", "_"), version)
    folder = os.path.join(metadata_directory, info)
    os.makedirs(folder)
    with open(os.path.join(folder, "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name, version))
    with open(os.path.join(folder, "WHEEL"), "w") as file:
        file.write("Wheel-Version: 1.0\nGenerator: stand-in\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    return info


backend = first(ENV)
if backend:
    # A backend inside the archive must lie where the archive says; pip's child checks.
    folder = first(ENV_PATH).split(os.pathsep)[0]
    module_name, _, attributes = backend.partition(":")
    parts = module_name.split(".")
    for end in range(1, len(parts) + 1):
        module = types.ModuleType(".".join(parts[:end]))
        module.__path__ = []
        module.__file__ = os.path.join(folder, "stand_in.py")
        module.get_requires_for_build_wheel = get_requires_for_build_wheel
        module.prepare_metadata_for_build_wheel = prepare_metadata_for_build_wheel
        sys.modules[module.__name__] = module
    for attribute in filter(None, attributes.split(".")):
        setattr(module, attribute, module)
