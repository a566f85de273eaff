//! Writing a fastmap: new PEBs for it, new pools, and all that is known of the other PEBs.

use super::super::format::{
    FASTMAP_DATA_VOLUME, FASTMAP_VOLUME, LAYOUT_VOLUME, VidHeader, VolumeRecord,
};
use super::super::wear::State;
use super::super::work::Job;
use super::super::{Ubi, UbiError};
use super::Fastmap;
use super::format::{ANCHORS_END, Counted, Snapshot, Superblock, VolumeMap};
use crate::mtd::MtdError;

/// LEBs of the layout volume, which holds the volume table (`UBI_LAYOUT_VOLUME_EBS`).
const LAYOUT_LEBS: u32 = 2;

/// How much of a fastmap was written.
enum Written {
    Whole,
    /// A program failed after the anchor's header was written.
    Begun,
    /// Not even the anchor's header was written.
    Not,
}

impl Ubi {
    /// Detach the device. If fastmaps are written, a last one is written, as whole LEBs. Jobs that
    /// are left to do are recorded in it.
    pub fn detach(&mut self) -> Result<(), UbiError> {
        self.update_fastmap()
    }

    /// Write a new fastmap with full pools in place of the current one, if fastmaps are written. If
    /// that fails, there is no fastmap until the next attach.
    pub(in crate::ubi) fn update_fastmap(&mut self) -> Result<(), UbiError> {
        let Some(mut fastmap) = self.fastmap.take() else { return Ok(()) };
        let _scope = self.recorder.scope("ubi_fastmap");
        self.empty_pools(&mut fastmap);
        let Some(blocks) = self.choose_blocks(&mut fastmap)? else {
            self.fill_pools(&mut fastmap);
            let is_first = fastmap.blocks.is_empty();
            self.fastmap = Some(fastmap);
            self.ensure_levelling();
            return if is_first { Ok(()) } else { self.abandon_fastmap() };
        };
        self.fill_pools(&mut fastmap);
        let old = std::mem::replace(&mut fastmap.blocks, blocks);
        for peb in old.into_iter().filter(|peb| !fastmap.blocks.contains(peb)) {
            self.schedule_erase(peb, false);
        }
        let written = self.write_fastmap(&fastmap)?;
        let anchor = fastmap.blocks[0];
        self.fastmap = Some(fastmap);
        match written {
            Written::Whole => {
                self.ensure_levelling();
                Ok(())
            }
            Written::Begun => self.abandon_behind(anchor),
            Written::Not => self.abandon_fastmap(),
        }
    }

    /// Choose free PEBs for a fastmap, the anchor first. PEBs that wait to be erased are erased
    /// until enough are free. If no PEB for an anchor is left, the current anchor is erased and
    /// used again.
    fn choose_blocks(&mut self, fastmap: &mut Fastmap) -> Result<Option<Vec<u32>>, UbiError> {
        let has_anchor = |ubi: &Self| ubi.wear.free_below(ANCHORS_END).is_some();
        while !(has_anchor(self) && self.wear.free_count() >= fastmap.block_count) {
            if !self.erase_one()? {
                break;
            }
        }
        fastmap.wants_anchor = !has_anchor(self);
        let mut anchor = self.withdraw(self.wear.free_below(ANCHORS_END));
        let choose = |_| self.withdraw(self.wear.choose(self.threshold));
        let data: Vec<u32> = (1..fastmap.block_count).map_while(choose).collect();
        let is_complete = 1 + data.len() == fastmap.block_count;
        if let (None, Some(&peb), true) = (anchor, fastmap.blocks.first(), is_complete) {
            anchor = self.erase_anchor(peb)?.then_some(peb);
        }
        let Some(anchor) = anchor.filter(|_| is_complete) else {
            let unused = anchor.into_iter().chain(data);
            unused.for_each(|peb| self.wear.set_state(peb, State::Free));
            return Ok(None);
        };
        let blocks = [anchor].into_iter().chain(data).collect();
        if self.wear.free_count() > 1 {
            fastmap.next_anchor = self.withdraw(self.wear.free_below(ANCHORS_END));
        }
        Ok(Some(blocks))
    }

    /// Erase the current anchor at once. Returns false if that failed. Older anchors are gone
    /// already, since all PEBs that waited have been erased.
    fn erase_anchor(&mut self, peb: u32) -> Result<bool, UbiError> {
        match self.erase_and_count(peb, false) {
            Ok(()) => Ok(true),
            Err(UbiError::PowerLost) => Err(UbiError::PowerLost),
            Err(UbiError::Io) => Ok(false),
        }
    }

    fn write_fastmap(&mut self, fastmap: &Fastmap) -> Result<Written, UbiError> {
        let Some(snapshot) = self.snapshot(fastmap) else { return Ok(Written::Not) };
        let superblock =
            Superblock { blocks: fastmap.blocks.iter().map(|&peb| self.counted(peb)).collect() };
        let leb_size = self.leb_size() as usize;
        let Some(bytes) = snapshot.emit(&superblock, leb_size) else { return Ok(Written::Not) };
        for (lnum, &peb) in (0..).zip(&fastmap.blocks) {
            match self.write_fastmap_header(peb, lnum) {
                Ok(()) => (),
                Err(MtdError::PowerLost) => return Err(UbiError::PowerLost),
                Err(_) if lnum == 0 => return Ok(Written::Not),
                Err(_) => return Ok(Written::Begun),
            }
        }
        for (&peb, bytes) in fastmap.blocks.iter().zip(bytes.chunks(leb_size)) {
            match self.mtd.write(self.place(peb, self.layout.data_offset), bytes) {
                Ok(()) => (),
                Err(MtdError::PowerLost) => return Err(UbiError::PowerLost),
                Err(_) => return Ok(Written::Begun),
            }
        }
        Ok(Written::Whole)
    }

    /// Write the VID header of block `lnum` of a fastmap. The anchor is block 0.
    pub(super) fn write_fastmap_header(&mut self, peb: u32, lnum: u32) -> Result<(), MtdError> {
        self.sequence += 1;
        let volume = if lnum == 0 { FASTMAP_VOLUME } else { FASTMAP_DATA_VOLUME };
        let vid = VidHeader { volume, lnum, sequence: self.sequence, copied: None };
        self.write_header(peb, self.layout.vid_offset, &vid.emit())
    }

    /// What the fastmap must say. `None` if it cannot say everything: it has no list for a PEB that
    /// is kept because its data is damaged, and a static volume needs more fields than the model
    /// knows.
    fn snapshot(&self, fastmap: &Fastmap) -> Option<Snapshot> {
        let listed = |state| self.wear.pebs_in(state).map(|peb| self.counted(peb));
        let is_static = self.volumes.iter().any(|(_, volume)| volume.is_static);
        if is_static || !self.unlisted().is_empty() {
            return None;
        }
        let kept = self.map.values().filter(|&&peb| self.wear.state(peb) == State::Out);
        let erase = self.jobs.iter().filter_map(|job| match job {
            Job::Erase { peb, .. } => Some(self.counted(*peb)),
            Job::Move | Job::Fastmap => None,
        });
        let bad = (0..self.mtd.block_count()).filter(|&peb| self.mtd.is_bad(peb)).count();
        Some(Snapshot {
            pools: fastmap.pools.clone(),
            free: listed(State::Free)
                .chain(fastmap.next_anchor.map(|peb| self.counted(peb)))
                .collect(),
            used: listed(State::Used)
                .chain(listed(State::Protected))
                .chain(kept.map(|&peb| self.counted(peb)))
                .collect(),
            scrub: listed(State::Scrub).collect(),
            erase: erase.collect(),
            bad_count: u32::try_from(bad).expect("counted in u32"),
            volumes: self.volume_maps()?,
        })
    }

    /// The mapping of every volume. `None` if the volumes claim more LEBs than there are PEBs.
    fn volume_maps(&self) -> Option<Vec<VolumeMap>> {
        let lebs: u64 = self.volumes.iter().map(|(_, volume)| u64::from(volume.leb_count)).sum();
        if lebs > self.mtd.block_count().into() {
            return None;
        }
        let map = |id, lebs, data_pad, last_size| VolumeMap {
            id,
            data_pad,
            last_size,
            pebs: (0..lebs).map(|lnum| self.map.get(&(id, lnum)).copied()).collect(),
        };
        let user = |(id, volume): &(u32, VolumeRecord)| {
            let last_size = self.leb_size().saturating_sub(volume.data_pad);
            map(*id, volume.leb_count, volume.data_pad, last_size)
        };
        // The kernel writes the number of LEBs where the size of the last LEB should be.
        let layout = map(LAYOUT_VOLUME, LAYOUT_LEBS, 0, LAYOUT_LEBS);
        Some(self.volumes.iter().map(user).chain([layout]).collect())
    }

    fn counted(&self, peb: u32) -> Counted {
        (peb, u32::try_from(self.wear.count(peb)).unwrap_or(u32::MAX))
    }
}
