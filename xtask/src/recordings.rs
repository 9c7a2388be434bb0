//! `cargo xtask fixtures`: what the tests compare with, made by the real tools.

use crate::{at, root};

/// Records all tables and writes the bundled images; needs the tools that the recordings are of.
pub(crate) fn run() -> Result<(), String> {
    let images = root().join("fixtures/images");
    fixtures::bundled::write_all(&images).map_err(at(&images))?;
    fixtures::recorded::record_all(&root().join("fixtures/recorded"))
}
