/// How careful a move is, and how stubborn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Care {
    /// Whether everything is read back from the medium once it is written, and compared with what was read.
    pub verify: bool,
    /// Whether sectors that cannot be read become zeros. Else the move stops at the first of them.
    pub skip_bad: bool,
}
