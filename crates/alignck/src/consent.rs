//! The question before something is written.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Whether there is somebody to ask: without a terminal nobody can answer.
pub(crate) fn can_ask(json: bool) -> bool {
    !json && io::stdin().is_terminal()
}

/// Asks on the terminal; anything but yes is no.
pub(crate) fn ask(what: &str, disk: &Path) -> io::Result<bool> {
    let mut prompt = io::stderr().lock();
    write!(prompt, "{what} {}? Type yes: ", disk.display())?;
    prompt.flush()?;
    let mut answer = String::new();
    if io::stdin().read_line(&mut answer)? == 0 {
        // The end of input leaves the cursor behind the question.
        writeln!(prompt)?;
    }
    Ok(answer.trim().eq_ignore_ascii_case("yes"))
}
