// Runs `native.py` on CPython 3.14 as Pyodide builds it: `node run.mjs CONFIG`.
//
// CONFIG is a JSON file: `repo` and `site` (folders of the tree and of the wheels), `native` (the script),
// `python_path` (relative to the tree), `args` (pytest's) and `results` (file to write).
//
// Another build for another system (Emscripten), so it is asked only whether a difference is the version's: what
// comes out as in the sandbox here as well. It has no processes and no threads either.

import fs from "node:fs";
import { loadPyodide } from "pyodide";

const config = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const path = config.python_path.map((part) => (part === "." ? "/repo" : `/repo/${part}`));
const python = await loadPyodide({
  stdout: () => {},
  stderr: () => {},
  env: { HOME: "/home/pyodide", TZ: "UTC", PYTHONHASHSEED: "0", PYTHONDONTWRITEBYTECODE: "1" },
});
for (const [from, to] of [[config.repo, "/repo"], [config.site, "/site"]]) {
  python.FS.mkdirTree(to);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: from }, to);
}
const session = { root: "/repo", args: config.args, results: "/results" };
python.FS.writeFile("/native.py", fs.readFileSync(config.native, "utf8"));
python.FS.writeFile("/config.json", JSON.stringify(session));
python.globals.set("folders", JSON.stringify(path));
python.runPython(`
import importlib, json, runpy, sys
sys.path[:0] = json.loads(folders)
sys.path.append("/site")
sys.argv = ["native.py", "/config.json"]
importlib.invalidate_caches()
try:
    runpy.run_path("/native.py", run_name="__main__")
except SystemExit:
    pass
`);
fs.writeFileSync(config.results, python.FS.readFile("/results"));
process.exit(0);
