//! The error of a stack that cannot be built.

use std::fmt;

use flysch_linux::block_device::BlockError;
use flysch_linux::filesystem::FsError;
use flysch_linux::ftl::FtlError;
use flysch_linux::mtd::MtdError;
use flysch_linux::plainfs::PlainfsError;
use flysch_linux::pramfs::PramfsError;
use flysch_linux::{jffs2, ubifs, yaffs2};

/// Why a stack cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StackError {
    /// The power failed during the work.
    PowerLost,
    /// A layer of the stack reported an error.
    Refused {
        /// The name of the layer.
        layer: &'static str,
        /// The error message of the layer.
        why: String,
    },
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PowerLost => f.write_str("power lost"),
            Self::Refused { layer, why } => write!(f, "{layer}: {why}"),
        }
    }
}

impl std::error::Error for StackError {}

/// Errors of layers, which have a variant for a power cut.
pub(crate) trait LayerError: fmt::Display {
    /// Whether the power was cut.
    fn is_power_cut(&self) -> bool;
}

macro_rules! layer_errors {
    ($($error:ty => $cut:pat,)+) => { $(
        impl LayerError for $error {
            fn is_power_cut(&self) -> bool {
                matches!(self, $cut)
            }
        }
    )+ };
}

layer_errors! {
    MtdError => Self::PowerLost,
    FtlError => Self::PowerLost,
    jffs2::MountError => Self::PowerLost,
    yaffs2::MountError => Self::PowerLost,
    ubifs::MountError => Self::PowerLost,
    PramfsError => Self::PowerLost,
    PlainfsError => Self::Device(BlockError::PowerLost),
    FsError => Self::PowerLost,
}

impl StackError {
    /// The error of `layer`, or [`Self::PowerLost`] if the power was cut.
    pub(crate) fn of(layer: &'static str, error: &impl LayerError) -> Self {
        if error.is_power_cut() {
            return Self::PowerLost;
        }
        Self::Refused { layer, why: error.to_string() }
    }
}
