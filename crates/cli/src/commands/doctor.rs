//! `probity doctor`: what holds on this machine.

use std::process::ExitCode;

use crate::args::DoctorArgs;
use crate::failure::Failure;
use crate::ui::Ui;

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_args: &DoctorArgs, _ui: &Ui) -> Result<ExitCode, Failure> {
    Err(Failure::Request(anyhow::anyhow!(
        "workers and their lockdown exist on Linux only; elsewhere guests run as threads"
    )))
}

#[cfg(target_os = "linux")]
pub(crate) fn run(args: &DoctorArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    use probity_sandbox::doctor;
    use probity_sandbox::worker::WorkerCommand;

    let spinner = ui.spinner("trying");
    let diagnosis = doctor::examine(&WorkerCommand::this_program(), &mut |attempt| {
        spinner.set_message(format!("trying to {attempt}"));
    })
    .map_err(Failure::host)?;
    spinner.finish_and_clear();
    if args.json {
        #[derive(serde::Serialize)]
        struct Answer<'a> {
            schema: &'static str,
            holds: bool,
            #[serde(flatten)]
            diagnosis: &'a doctor::Diagnosis,
        }
        let answer = Answer {
            schema: "probity.doctor/1",
            holds: diagnosis.holds(),
            diagnosis: &diagnosis,
        };
        ui.out_json(&answer)?;
    } else {
        ui.out(&table::of(&diagnosis, ui));
    }
    Ok(ExitCode::from(u8::from(!diagnosis.holds())))
}

#[cfg(target_os = "linux")]
mod table {
    use std::fmt::Write as _;

    use probity_sandbox::doctor::{Diagnosis, Finding};
    use probity_sandbox::worker::lockdown::State;

    use crate::report::escape;
    use crate::ui::{Style, Ui};

    /// The diagnosis for people.
    pub(super) fn of(diagnosis: &Diagnosis, ui: &Ui) -> String {
        let mut text = String::new();
        let wide = diagnosis.denials.iter().map(|denial| denial.attempt.len());
        let wide = wide.max().unwrap_or(0);
        let title = format!("{:<11}  {:<6}  {:<wide$}  how", "", "wall", "attempt");
        let _ = writeln!(text, "{}", ui.paint(Style::Strong, &title));
        for denial in &diagnosis.denials {
            let (style, word, how) = match &denial.finding {
                Finding::Denied { how } => (Style::Good, "denied", how),
                Finding::Allowed { what } => (Style::Bad, "ALLOWED", what),
                Finding::NotOffered { why } => (Style::Doubtful, "not offered", why),
            };
            let _ = writeln!(
                text,
                "{}  {:<6}  {:<wide$}  {}",
                ui.paint(style, &format!("{word:<11}")),
                denial.wall.name(),
                denial.attempt,
                ui.paint(Style::Faint, &escape::line(how)),
            );
        }
        let _ = writeln!(text);
        let title = format!("{:<11}  {:<18}  what it stops", "", "layer");
        let _ = writeln!(text, "{}", ui.paint(Style::Strong, &title));
        for report in &diagnosis.layers {
            let (style, word, more) = match &report.state {
                State::Active { detail } => (Style::Good, "active", detail.as_str()),
                State::NotOffered { why } => (Style::Doubtful, "not offered", why.as_str()),
                State::Failed { why } => (Style::Bad, "FAILED", why.as_str()),
                State::Off => (Style::Faint, "off", ""),
            };
            let _ = writeln!(
                text,
                "{}  {:<18}  {} {}",
                ui.paint(style, &format!("{word:<11}")),
                report.layer.name(),
                report.stops,
                ui.paint(Style::Faint, &format!("({})", escape::line(more))),
            );
        }
        let denied = |denial: &&probity_sandbox::doctor::Denial| {
            matches!(denial.finding, Finding::Denied { .. })
        };
        let count = diagnosis.denials.iter().filter(denied).count();
        let (style, word) = if diagnosis.holds() {
            (
                Style::Good,
                "everything that this machine can deny is denied",
            )
        } else {
            (Style::Bad, "NOT everything that must be denied is")
        };
        let _ = writeln!(
            text,
            "\n{}: {count} of {} attempts denied",
            ui.paint(style, word),
            diagnosis.denials.len(),
        );
        text
    }
}
