//! `probity init`: a commented spec for the repository at hand.

use std::fs::File;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};

use super::input::{self, SPEC_FILE};
use super::suggest;
use crate::args::{InitArgs, Isolation};
use crate::cache::Cache;
use crate::failure::Failure;
use crate::ui::Ui;

pub(crate) fn run(args: &InitArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let repo = input::repository(&args.repo, ui)?;
    let cache = Cache::find()?;
    let sandbox = cache.sandbox(Isolation::default())?;
    let spinner = ui.spinner("trying checks");
    let text = suggest::text_for(&repo, &sandbox, &cache)?;
    spinner.finish_and_clear();
    if args.stdout {
        ui.out(&text);
        return Ok(ExitCode::SUCCESS);
    }
    let mut file = match File::create_new(args.repo.repo.join(SPEC_FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::Request(anyhow!(
                "`{SPEC_FILE}` exists already and is left as it is; --stdout prints what would be written"
            )));
        }
        Err(error) => {
            return Err(Failure::Host(
                anyhow!(error).context(format!("cannot write `{SPEC_FILE}`")),
            ));
        }
    };
    std::io::Write::write_all(&mut file, text.as_bytes())
        .with_context(|| format!("cannot write `{SPEC_FILE}`"))
        .map_err(Failure::Host)?;
    ui.out(&format!(
        "wrote {SPEC_FILE}; judge a patch with: probity verify --patch FILE\n"
    ));
    Ok(ExitCode::SUCCESS)
}
