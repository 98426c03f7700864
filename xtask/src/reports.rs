//! `cargo xtask reports`: reports of a suite that tries to break them, read by programs of
//! other people. What is read and by whom stands in `tests/reports/README.md`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::{probity, root, run as run_command, venv};

/// The readers, as pip's requirements name them: wheels of pure Python, whichever Python
/// there is.
const READERS: &str = "\
elementpath==5.1.4 --hash=sha256:5ec8d7bb44b16c98414a6a95e20cb150f3cbfc3cac65edc14773288c7a937376
junitparser==5.0.3 --hash=sha256:553535b8cd1672a9c8bd2c7326ae1ae69279267fbc562106b5aa44d3c5f769af
more-itertools==11.2.1 --hash=sha256:35a7377edd1dd6608dcb2cdf534ded55ea32d49448875ad042cd3f879fb1ded0
ruamel.yaml==0.19.1 --hash=sha256:27592957fedf6e0b62f281e96effd28043345e0e66001f97683aa9a40c667c93
tap.py==3.2.1 --hash=sha256:ae2a8a7999529ec568d03462e75968289cee5927dfd52fcc3a6381c8892d10ef
xmlschema==4.3.2 --hash=sha256:cf5c970a30f6ebcb3da35260e694704cc0b6794d8ace46125bb2a95e38ed9307
";
/// The package that ships the schema, as source.
const SCHEMA: &str = "\
pytest==9.2.0 --hash=sha256:97c4f3b1f3c7414aa36465e09b8220f1d03627993bd51b1282e193753c80557b
";
const SCHEMA_PATH: &str = "pytest-9.2.0/testing/example_scripts/junit-10.xsd";

pub(crate) fn run(args: &[String]) -> Result<bool> {
    ensure!(args.is_empty(), "usage: cargo xtask reports");
    let tools = tools()?;
    let binary = probity::build()?;
    let sample = root().join("tests/reports");
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let (junit, tap, json) = (path("r.xml"), path("r.tap"), path("r.json"));
    let mut command = Command::new(binary);
    command
        .args(["verify", "--report", "human", "--repo"])
        .arg(&sample);
    for (form, path) in [("junit", &junit), ("tap", &tap), ("json", &json)] {
        command
            .arg("--report")
            .arg(format!("{form}={}", path.display()));
    }
    let status = command.status().context("cannot start probity")?;
    ensure!(status.code() == Some(1), "the sample ended with {status}");
    let status = Command::new(venv::python(&tools))
        .arg(sample.join("readers.py"))
        .args([&tools.join("schema").join(SCHEMA_PATH), &junit, &tap, &json])
        .status()?;
    Ok(status.success())
}

/// A folder with a Python that has the readers, and the schema.
fn tools() -> Result<PathBuf> {
    venv::ready("report-readers-1", READERS, |folder| {
        // Only the archive is wanted: nothing of it is built.
        let schema = folder.join("schema");
        fs::create_dir(&schema)?;
        let to = schema.to_string_lossy().into_owned();
        venv::pip(
            folder,
            SCHEMA,
            &["download", "--no-binary", ":all:", "--dest", &to],
        )?;
        run_command(
            Command::new("tar")
                .args(["-xzf", "pytest-9.2.0.tar.gz", SCHEMA_PATH])
                .current_dir(&schema),
        )
    })
}
