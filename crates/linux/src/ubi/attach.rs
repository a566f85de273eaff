//! Attaching: the headers of all blocks say which block holds which LEB. Formatting, too.

use std::collections::{BTreeMap, VecDeque};

use flysch_chip::Recorder;

use super::format::{
    EcHeader, Found, HEADER_SIZE, LAYOUT_VOLUME, RECORD_SIZE, VidHeader, VolumeRecord, crc32,
    emit_table, parse_table, record_count,
};
use super::wear::{State, Wear};
use super::{AttachError, Layout, OVERHEAD_PEBS, Ubi, reserve_for_bad};
use crate::mtd::{Partition, ReadQuality};

/// A block in the scan.
struct Claim {
    peb: u32,
    vid: VidHeader,
}

/// What the scan has found.
#[derive(Default)]
struct Scan {
    claims: BTreeMap<(u32, u32), Claim>,
    free: Vec<u32>,
    erase: Vec<u32>,
    keep: Vec<u32>,
    counts: BTreeMap<u32, u64>,
}

impl Ubi {
    /// Erase the partition and make a device with one volume, named `name`, of all its space.
    ///
    /// # Errors
    /// The partition is too small, or the device failed.
    ///
    /// # Panics
    /// If the name is longer than 127 bytes.
    pub fn format(
        mtd: &Partition,
        recorder: &Recorder,
        name: &str,
        erase_counts: &[u32],
    ) -> Result<(), AttachError> {
        let _scope = recorder.scope("ubi_format");
        let mut ubi = Self::bare(mtd.clone(), recorder.clone(), super::WEAR_THRESHOLD);
        for peb in (0..mtd.block_count()).filter(|&block| !mtd.is_bad(block)) {
            ubi.wear.set_state(peb, State::Away);
            let known = erase_counts.get(peb as usize);
            ubi.wear.set_count(peb, known.map_or(0, |&count| count.into()));
            match ubi.erase_and_count(peb, false) {
                Ok(()) => ubi.wear.set_state(peb, State::Free),
                Err(super::UbiError::PowerLost) => return Err(AttachError::PowerLost),
                Err(super::UbiError::Io) => {
                    ubi.wear.set_state(peb, State::Out);
                    mtd.mark_bad(peb)?;
                }
            }
        }
        let good = u32::try_from(ubi.wear.free_count()).expect("below the block count");
        let leb_count = good.checked_sub(OVERHEAD_PEBS + reserve_for_bad(mtd));
        let leb_count = leb_count.filter(|&count| count > 0);
        let leb_count = leb_count.ok_or(AttachError::TooSmall { blocks: good })?;
        let volume = VolumeRecord { leb_count, name: name.as_bytes().to_vec() };
        let table = emit_table(&[volume], ubi.leb_size());
        for lnum in 0..2 {
            ubi.change_in(LAYOUT_VOLUME, lnum, &table)?;
        }
        Ok(())
    }

    /// Attach a partition, to use its volume number `volume`.
    ///
    /// # Errors
    /// There is no such device, or it failed.
    pub fn attach(
        mtd: Partition,
        recorder: &Recorder,
        volume: u32,
        threshold: u64,
    ) -> Result<Self, AttachError> {
        let _scope = recorder.scope("ubi_attach");
        let mut ubi = Self::bare(mtd, recorder.clone(), threshold);
        let scan = ubi.scan()?;
        if scan.claims.is_empty() {
            return Err(AttachError::NotUbi);
        }
        ubi.adopt(scan);
        ubi.volume = volume;
        ubi.leb_count = ubi.read_table(volume)?;
        ubi.forget_strangers();
        ubi.ensure_levelling();
        Ok(ubi)
    }

    fn bare(mtd: Partition, recorder: Recorder, threshold: u64) -> Self {
        let (layout, wear) = (Layout::of(&mtd), Wear::new(mtd.block_count()));
        Self {
            mtd,
            recorder,
            layout,
            volume: 0,
            leb_count: 0,
            map: BTreeMap::new(),
            sequence: 0,
            wear,
            jobs: VecDeque::new(),
            threshold,
        }
    }

    fn scan(&mut self) -> Result<Scan, AttachError> {
        let mut scan = Scan::default();
        for peb in 0..self.mtd.block_count() {
            if !self.mtd.is_bad(peb) {
                self.scan_block(peb, &mut scan)?;
            }
        }
        Ok(scan)
    }

    fn scan_block(&mut self, peb: u32, scan: &mut Scan) -> Result<(), AttachError> {
        let mut bytes = [0; HEADER_SIZE];
        self.mtd.read(self.start(peb), &mut bytes)?;
        let ec = EcHeader::parse(&bytes);
        if let Found::Valid(ec) = ec {
            let expected = (self.layout.vid_offset, self.layout.data_offset);
            if (ec.vid_offset, ec.data_offset) != expected {
                return Err(AttachError::Geometry { block: peb });
            }
            scan.counts.insert(peb, ec.erase_count);
        }
        let quality = self.mtd.read(self.start(peb) + self.layout.vid_offset, &mut bytes)?;
        match (ec, VidHeader::parse(&bytes)) {
            (_, Found::Valid(vid)) => self.claim(scan, Claim { peb, vid })?,
            (Found::Valid(_), Found::Blank) if quality == ReadQuality::Clean => {
                scan.free.push(peb);
            }
            (_, Found::Corrupt)
                if !matches!(quality, ReadQuality::Damaged(_)) && !self.is_data_blank(peb)? =>
            {
                scan.keep.push(peb);
            }
            _ => scan.erase.push(peb),
        }
        Ok(())
    }

    fn is_data_blank(&self, peb: u32) -> Result<bool, AttachError> {
        let mut data = vec![0; self.leb_size() as usize];
        let quality = self.mtd.read(self.start(peb) + self.layout.data_offset, &mut data)?;
        let damaged = matches!(quality, ReadQuality::Damaged(_));
        Ok(damaged || data.iter().all(|&byte| byte == 0xFF))
    }

    /// A block says it holds a LEB: it does, unless another has better reason to say so.
    fn claim(&mut self, scan: &mut Scan, new: Claim) -> Result<(), AttachError> {
        let key = (new.vid.volume, new.vid.lnum);
        self.sequence = self.sequence.max(new.vid.sequence);
        let Some(old) = scan.claims.remove(&key) else {
            scan.claims.insert(key, new);
            return Ok(());
        };
        let old_is_newer = old.vid.sequence > new.vid.sequence;
        let (newer, older) = if old_is_newer { (old, new) } else { (new, old) };
        let (winner, loser) = if self.is_whole(&newer)? { (newer, older) } else { (older, newer) };
        scan.erase.push(loser.peb);
        scan.claims.insert(key, winner);
        Ok(())
    }

    /// Whether a copy was finished; what is no copy counts as whole.
    fn is_whole(&self, claim: &Claim) -> Result<bool, AttachError> {
        let Some((size, crc)) = claim.vid.copied else { return Ok(true) };
        if size > self.leb_size() {
            return Ok(false);
        }
        let mut data = vec![0; size as usize];
        let at = self.start(claim.peb) + self.layout.data_offset;
        let quality = self.mtd.read(at, &mut data)?;
        Ok(!matches!(quality, ReadQuality::Damaged(_)) && crc32(&data) == crc)
    }

    /// Take over what the scan has found; blocks whose count is lost get the mean.
    fn adopt(&mut self, scan: Scan) {
        let counted = u64::try_from(scan.counts.len().max(1)).expect("fits");
        let sum = scan.counts.values().fold(0_u64, |sum, &count| sum.saturating_add(count));
        let known = |peb: u32| scan.counts.get(&peb).copied().unwrap_or(sum / counted);
        for (key, claim) in scan.claims {
            self.wear.set_count(claim.peb, known(claim.peb));
            self.wear.set_state(claim.peb, State::Used);
            self.map.insert(key, claim.peb);
        }
        for &peb in &scan.free {
            self.wear.set_count(peb, known(peb));
            self.wear.set_state(peb, State::Free);
        }
        for &peb in &scan.erase {
            self.wear.set_count(peb, known(peb));
            self.schedule_erase(peb, false);
        }
        for &peb in &scan.keep {
            self.wear.set_count(peb, known(peb));
        }
    }

    /// Read the volume table; tell the size of `volume`. A damaged copy is written anew.
    fn read_table(&mut self, volume: u32) -> Result<u32, AttachError> {
        let size = record_count(self.leb_size()) * RECORD_SIZE;
        let mut tables = [const { None }; 2];
        for (lnum, table) in (0..).zip(&mut tables) {
            let Some(&peb) = self.map.get(&(LAYOUT_VOLUME, lnum)) else { continue };
            let mut bytes = vec![0; size];
            self.mtd.read(self.start(peb) + self.layout.data_offset, &mut bytes)?;
            *table = parse_table(&bytes).map(|records| (bytes, records));
        }
        let best = usize::from(tables[0].is_none());
        let other = 1 - best;
        let Some((bytes, records)) = tables[best].clone() else { return Err(AttachError::NotUbi) };
        let is_same = tables[other].as_ref().is_some_and(|(copy, _)| *copy == bytes);
        if !is_same {
            self.change_in(LAYOUT_VOLUME, u32::from(other == 1), &bytes)?;
        }
        let record = records.get(volume as usize).cloned().flatten();
        record.map(|record| record.leb_count).ok_or(AttachError::NoVolume)
    }

    /// Erase the blocks of LEBs that no volume has.
    fn forget_strangers(&mut self) {
        let (volume, count) = (self.volume, self.leb_count);
        let stray: Vec<_> =
            self.map.keys().copied().filter(|&(id, lnum)| id == volume && lnum >= count).collect();
        for key in stray {
            let peb = self.map.remove(&key).expect("just listed");
            self.schedule_erase(peb, false);
        }
    }
}
