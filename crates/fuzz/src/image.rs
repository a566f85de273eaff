//! The bytes of a flash.

use flysch_chip::{Chip, Clock};
use flysch_nand::{Geometry, Nand, PageAddr};

/// The data and the OOB bytes of all pages of a chip.
#[derive(Clone, Debug)]
pub struct Image {
    pub geometry: Geometry,
    pub data: Vec<u8>,
    pub oob: Vec<u8>,
}

impl Image {
    pub(crate) fn of(chip: &Chip) -> Self {
        let mut chip = chip.fork(Clock::new());
        let geometry = chip.geometry();
        let (mut data, mut oob) = (Vec::new(), Vec::new());
        for page in (0..geometry.page_count()).map(PageAddr) {
            let mut bytes = vec![0; (geometry.page_size + geometry.oob_size) as usize];
            if chip.read(page, 0, &mut bytes).is_ok() {
                oob.extend(bytes.split_off(geometry.page_size as usize));
                data.extend(bytes);
            }
        }
        Self { geometry, data, oob }
    }

    pub fn page_size(&self) -> usize {
        self.geometry.page_size as usize
    }

    pub fn oob_size(&self) -> usize {
        self.geometry.oob_size as usize
    }

    pub fn pages(&self) -> usize {
        self.geometry.page_count() as usize
    }

    /// The content of an image file: the data of each page, followed by its OOB bytes if `has_oob`.
    pub fn file(&self, has_oob: bool) -> Vec<u8> {
        let pages = self.data.chunks(self.page_size()).zip(self.oob.chunks(self.oob_size()));
        let page = |(data, oob): (&[u8], &[u8])| [data, if has_oob { oob } else { &[] }].concat();
        pages.flat_map(page).collect()
    }
}
