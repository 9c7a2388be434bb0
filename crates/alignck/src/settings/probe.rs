use std::path::PathBuf;

use align_core::check::Options;

use super::Consent;
use super::medium::as_reported;
use crate::cli::ProbeArgs;

/// A disk whose sectors are to be found by timing.
pub(crate) struct ProbeSettings {
    pub(crate) disk: PathBuf,
    pub(crate) options: Options,
    /// Without `--write` nothing is.
    pub(crate) consent: Consent,
    pub(crate) json: bool,
}

impl From<ProbeArgs> for ProbeSettings {
    fn from(args: ProbeArgs) -> Self {
        let consent = match (args.write, args.yes) {
            (false, _) => Consent::DryRun,
            (true, false) => Consent::Ask,
            (true, true) => Consent::Given,
        };
        Self { disk: args.disk, options: as_reported(), consent, json: args.json }
    }
}
