//! A geometry written as one word, such as `2048+64x64x2048`: page size + OOB bytes x pages per
//! block x blocks.

use std::fmt;

use flysch_nand::{Geometry, GeometryError};

use super::intake::BLOCKS_MAX;

/// Why a word is not a geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// The word does not have this form.
    Form,
    /// A chip with these numbers is impossible.
    Impossible(GeometryError),
    /// There are more blocks than a trace may have.
    Blocks(u32),
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form => f.write_str("a geometry is PAGE+OOBxPAGES_PER_BLOCKxBLOCKS"),
            Self::Impossible(error) => error.fmt(f),
            Self::Blocks(count) => write!(f, "{count} blocks are more than {BLOCKS_MAX}"),
        }
    }
}

impl std::error::Error for ShapeError {}

/// Parse a geometry. Analyses of a trace do not need the rules of programming, so the result has
/// defaults for them: whole pages, programmed once, in any order.
pub fn parse_shape(word: &str) -> Result<Geometry, ShapeError> {
    let mut numbers = word.split(['+', 'x']).map(str::parse::<u32>);
    let mut next = || numbers.next().and_then(Result::ok).ok_or(ShapeError::Form);
    let geometry = Geometry {
        page_size: next()?,
        oob_size: next()?,
        sectors_per_page: 1,
        partial_programs: 1,
        pages_per_block: next()?,
        block_count: next()?,
        in_order: false,
    };
    if shape_text(&geometry) != word {
        return Err(ShapeError::Form);
    }
    geometry.check().map_err(ShapeError::Impossible)?;
    if geometry.block_count > BLOCKS_MAX {
        return Err(ShapeError::Blocks(geometry.block_count));
    }
    Ok(geometry)
}

/// Write a geometry in the form that [`parse_shape`] reads.
pub fn shape_text(geometry: &Geometry) -> String {
    let Geometry { page_size, oob_size, pages_per_block, block_count, .. } = geometry;
    format!("{page_size}+{oob_size}x{pages_per_block}x{block_count}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geometry_is_a_word() {
        let geometry = parse_shape("2048+64x64x2048").unwrap();
        assert_eq!((geometry.page_size, geometry.oob_size), (2048, 64));
        assert_eq!((geometry.pages_per_block, geometry.block_count), (64, 2048));
        for word in
            ["", "2048", "2048x64x64x2048", "2048+64x64x2048x1", "02048+64x64x1", "-1+1x1x1"]
        {
            assert_eq!(parse_shape(word), Err(ShapeError::Form), "{word}");
        }
        let zero = ShapeError::Impossible(GeometryError::Zero("block_count"));
        assert_eq!(parse_shape("2048+64x64x0"), Err(zero));
        assert_eq!(parse_shape("1+1x1x2000000"), Err(ShapeError::Blocks(2_000_000)));
    }
}
