/// Models that are known to have larger physical sectors than some of their drives report.
///
/// `?` in a pattern stands for any character; what follows the pattern does not matter, since the kernel cuts names
/// short. A line only counts where the drive claims 512. To add a model, add a line, with a source that saw it claim
/// 512 or treats it as 4096.
pub const KNOWN_MODELS: &[KnownModel] = &[
    // Measured on drives that say 512: blog.des.no, "Off by one", and lulf.no, "Using 4k sector drives" (2010).
    known("WDC WD??EARS", 4096),
    // The others: FreeBSD's table of drives to be treated as 4K, `sys/cam/ata/ata_da.c` (ADA_Q_4K), which has the
    // families of Western Digital as *RS, *RX, *PVT and *PKT.
    known("WDC WD????AARS", 4096),
    known("WDC WD??EURS", 4096),
    known("WDC WD??EARX", 4096),
    known("WDC WD????AZRX", 4096),
    known("WDC WD????BPVT", 4096),
    known("WDC WD????LPVT", 4096),
    known("WDC WD??TPVT", 4096),
    known("WDC WD????BPKT", 4096),
    known("SAMSUNG HD155UI", 4096),
    known("SAMSUNG HD204UI", 4096),
    known("Hitachi H??????????E3", 4096),
    known("ST????DL", 4096),
];

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// How the model's name begins, `?` for any character.
    pub pattern: &'static str,
    /// Its physical sector size in bytes.
    pub physical: u64,
}

const fn known(pattern: &'static str, physical: u64) -> KnownModel {
    KnownModel { pattern, physical }
}

impl KnownModel {
    /// The line for this model.
    pub fn find(model: &str) -> Option<Self> {
        KNOWN_MODELS.iter().copied().find(|known| known.matches(model))
    }

    fn matches(self, model: &str) -> bool {
        let mut model = model.chars();
        self.pattern
            .chars()
            .all(|expected| model.next().is_some_and(|own| expected == '?' || expected == own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_by_how_they_begin() {
        for model in
            ["WDC WD10EARS-00Y5B1", "WDC WD20EARS-00MVWB0", "WDC WD10EARS-00Y", "WDC WD6400AARS-00Y5B1"]
        {
            assert!(KnownModel::find(model).is_some_and(|known| known.physical == 4096), "{model}");
        }
        // An EADS is the model before, with 512-byte sectors; the second reports itself right.
        for model in ["WDC WD10EADS-00L5B1", "WDC WD10EZEX-08W", "WDC WD10", "", "Samsung SSD 980"] {
            assert_eq!(KnownModel::find(model), None, "{model}");
        }
    }

    #[test]
    fn a_line_is_a_real_size_and_names_a_family() {
        for known in KNOWN_MODELS {
            assert!(known.physical.is_power_of_two() && known.physical > 512, "{known:?}");
            assert!(known.pattern.len() >= 8 && !known.pattern.starts_with('?'), "{known:?}");
        }
    }
}
