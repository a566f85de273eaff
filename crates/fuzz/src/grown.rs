//! Good images to start from: the flash of a file system after some use.

use flysch_chip::{Chip, Clock, Prng};
use flysch_lab::machine::Build;
use flysch_lab::machine::stack::Stack;
use flysch_linux::filesystem::FsError;
use flysch_linux::vfs::Vfs;

use crate::image::Image;
use crate::sealed::{Sealed, find};
use crate::stack::{Kind, PageSize};

/// Number of calls that make an image.
const CALLS: u64 = 90;

/// A good image, with the positions of its structures.
#[derive(Clone, Debug)]
pub struct Grown {
    pub kind: Kind,
    pub build: Build,
    pub image: Image,
    pub(crate) sealed: Vec<Sealed>,
}

impl Grown {
    /// An image after some use. The seed decides whether the file system was unmounted or left as
    /// after a power cut, and whether it is nearly full.
    ///
    /// # Panics
    /// If the file system does not fit the chip.
    pub fn new(kind: Kind, page: PageSize, seed: u64) -> Self {
        let build = kind.build(page);
        let machine = build.format_and_mount(Stack::file(kind.main())).expect("the chip fits");
        let len_max = if seed % 4 == 3 { 90_000 } else { 15_000 };
        grow(&mut machine.linux.borrow_mut(), seed, len_max);
        if seed.is_multiple_of(2) {
            machine.unmount().expect("nothing fails");
        }
        let image = Image::of(machine.device.borrow().device().chip());
        let sealed = find(kind.main(), &image);
        Self { kind, build, image, sealed }
    }

    /// A chip that holds `image`.
    ///
    /// # Panics
    /// If the image is not of this geometry.
    pub fn chip(&self, image: &Image, clock: Clock) -> Chip {
        let part = self.build.part.clone();
        Chip::of_image(part, clock, 1, &image.file(true), true).expect("of the same geometry")
    }
}

/// Make files and folders, change them, and remove some. Ends early if the device is full.
pub(crate) fn grow(vfs: &mut Vfs, seed: u64, len_max: u64) {
    let mut prng = Prng::new(seed);
    for number in 0..CALLS {
        let outcome = call(vfs, &mut prng, number, len_max);
        if outcome == Err(FsError::NoSpace) {
            break;
        }
    }
}

fn call(vfs: &mut Vfs, prng: &mut Prng, number: u64, len_max: u64) -> Result<(), FsError> {
    let folder = ["", "/a", "/a/b", "/c"][usize::try_from(prng.below(4)).unwrap_or(0)];
    let name = format!("{folder}/file{}", prng.below(7));
    match prng.below(9) {
        _ if number < 3 => vfs.mkdir(["/a", "/a/b", "/c"][usize::try_from(number).unwrap_or(0)]),
        0 => vfs.unlink(&name),
        1 => vfs.rename(&name, &format!("/a/other{number}")),
        2 => vfs.sync(),
        3 => {
            vfs.sleep(7_000_000_000);
            Ok(())
        }
        4 => {
            let fd = vfs.open(&name, false)?;
            vfs.truncate(fd, prng.below(len_max))?;
            vfs.close(fd)
        }
        _ => {
            let fd = vfs.open(&name, true)?;
            let mut bytes = vec![0; usize::try_from(1 + prng.below(len_max)).unwrap_or(1)];
            let noisy = bytes.len() / 2;
            prng.fill(&mut bytes[..noisy]);
            vfs.write(fd, prng.below(len_max), &bytes)?;
            vfs.fsync(fd)?;
            vfs.close(fd)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::PageSize;

    /// The code that finds and seals structures agrees with the file systems: sealing an unchanged
    /// structure changes nothing.
    #[test]
    fn structures_are_found_and_sealed_as_the_file_systems_do() {
        for kind in Kind::ALL {
            for page in PageSize::ALL.into_iter().filter(|&page| kind.fits(page)) {
                let grown = Grown::new(kind, page, 2);
                let count = grown.sealed.len();
                assert!(count > 50, "{}, {page:?}: {count}", kind.name());
                let mut image = grown.image.clone();
                grown.sealed.iter().for_each(|sealed| sealed.seal(&mut image, 0));
                let is_same = image.data == grown.image.data && image.oob == grown.image.oob;
                assert!(is_same, "{}, {page:?}", kind.name());
            }
        }
    }

    #[test]
    fn each_kind_of_structure_is_found() {
        let has = |kind: Kind, fits: fn(&Sealed) -> bool| {
            let grown = Grown::new(kind, PageSize::Usual, 2);
            assert!(grown.sealed.iter().any(fits), "{}", kind.name());
        };
        has(Kind::Ubifs, |it| matches!(it, Sealed::Lpt(..)));
        has(Kind::Ubifs, |it| matches!(it, Sealed::Ubifs(..)));
        has(Kind::Ubifs, |it| matches!(it, Sealed::UbiRecord(_)));
        has(Kind::UbifsFastmap, |it| matches!(it, Sealed::Fastmap(..)));
        has(Kind::Yaffs2, |it| matches!(it, Sealed::YaffsSummary(_)));
        has(Kind::Yaffs2, |it| matches!(it, Sealed::YaffsCheckpoint(_)));
        has(Kind::Yaffs2, |it| matches!(it, Sealed::YaffsHeader(_)));
    }
}
