//! The cells of a comparison while they are measured: what is known of each on both sides, and the
//! file that keeps them.
//!
//! The file is written anew with each cell, so that a comparison that is interrupted loses only the
//! cell that was running. It is whole at any time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use flysch_kernel::validate::cell::{Cell, Key, Sample};
use flysch_kernel::validate::recorded;
use flysch_kernel::validate::verdict::title;

use super::{COLUMNS, columns};
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::progress::tell;

/// The cells that are compared.
pub(super) struct Kept {
    /// All cells, in the order of the file.
    order: Vec<Key>,
    kernel: BTreeMap<Key, Sample>,
    flysch: BTreeMap<Key, Sample>,
    /// The file, and whether it is this command's own or may be replaced.
    file: Option<(PathBuf, bool)>,
}

/// Read the cells of an earlier comparison.
pub(super) fn read(path: &Path) -> Result<Vec<(Key, Sample)>, Failure> {
    recorded::read(path).map_err(|error| Failure::of_file(path, error))
}

/// Read the cells of a comparison that was interrupted. Each must be one that is `wanted`, because
/// a cell that is not would be lost.
pub(super) fn resumed(path: &Path, wanted: &[Key]) -> Result<Vec<(Key, Sample)>, Failure> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let rows = read(path)?;
    match rows.iter().find(|(key, _)| !wanted.contains(key)) {
        Some((key, _)) => Err(Failure::of_file(
            path,
            format_args!(
                "has the cell {}, which is not asked for (--group, --draw, --seed, --quick)",
                title(key)
            ),
        )),
        None => Ok(rows),
    }
}

impl Kept {
    /// Cells of which the kernel's counts are known in part. They may be written to `file`, which
    /// replaces one that exists if the second value is set.
    pub(super) fn new(
        order: Vec<Key>,
        kernel: Vec<(Key, Sample)>,
        flysch: BTreeMap<Key, Sample>,
        file: Option<(PathBuf, bool)>,
    ) -> Self {
        Self { order, kernel: kernel.into_iter().collect(), flysch, file }
    }

    /// The cells whose counts on the kernel are not known.
    pub(super) fn missing(&self) -> Vec<Key> {
        self.order.iter().filter(|&key| !self.kernel.contains_key(key)).cloned().collect()
    }

    /// Take what a cell cost on the kernel, and write it down.
    pub(super) fn take(&mut self, key: Key, sample: &Sample) -> Result<(), Failure> {
        self.kernel.insert(key, *sample);
        self.write()
    }

    /// The counts of the kernel.
    pub(super) const fn kernel(&self) -> &BTreeMap<Key, Sample> {
        &self.kernel
    }

    /// The cells that are known on both sides.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let cell =
            |key: &Key| Some(Cell::new(key.clone(), self.kernel.get(key)?, self.flysch.get(key)?));
        self.order.iter().filter_map(cell).collect()
    }

    /// Write the cells to the file, if there is one.
    pub(super) fn write(&mut self) -> Result<(), Failure> {
        let rows = output::rows(&columns(&COLUMNS), &self.cells(), Format::Csv);
        let Some((path, is_own)) = &mut self.file else { return Ok(()) };
        output::write_file(path, &rows, *is_own)?;
        *is_own = true;
        Ok(())
    }

    /// Say what is left, if a comparison ended before all cells were measured.
    pub(super) fn tell_rest(&self) {
        let (all, left) = (self.order.len(), self.missing().len());
        match &self.file {
            Some((path, true)) if left > 0 => tell(&format!(
                "{}: {} of {all} cells; --resume goes on with the rest",
                path.display(),
                all - left
            )),
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use flysch_kernel::validate::cell::Counts;
    use flysch_kernel::validate::draw;

    use super::*;

    #[test]
    fn each_cell_is_in_the_file_once_it_is_measured() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cells.csv");
        let order: Vec<Key> = draw::quick()[..3].iter().map(Key::from).collect();
        let sample = |page_reads| Sample::from(Counts { page_reads, ..Counts::default() });
        let flysch: BTreeMap<Key, Sample> =
            order.iter().map(|key| (key.clone(), sample(5.0))).collect();
        let start = |is_own| {
            let rows = resumed(&path, &order)?;
            Ok(Kept::new(order.clone(), rows, flysch.clone(), Some((path.clone(), is_own))))
        };
        let mut first = start(false).unwrap_or_else(|failure: Failure| panic!("{failure}"));
        assert_eq!(first.missing(), order);
        first.take(order[1].clone(), &sample(4.0)).expect("a writable folder");
        first.take(order[0].clone(), &sample(2.5)).expect("its own file");
        let again = start(true).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!((again.missing(), again.cells().len()), (order[2..].to_vec(), 2));
        assert!((again.kernel()[&order[0]].mean.page_reads - 2.5).abs() < 1e-9);
        let other =
            Kept::new(order.clone(), Vec::new(), flysch.clone(), Some((path.clone(), false)))
                .take(order[2].clone(), &sample(1.0))
                .expect_err("the file is not its own");
        assert!(other.to_string().ends_with("exists; --force replaces it"), "{other}");
        let strange = resumed(&path, &order[1..]).expect_err("a cell that is not asked for");
        assert!(strange.to_string().contains("which is not asked for"), "{strange}");
    }
}
