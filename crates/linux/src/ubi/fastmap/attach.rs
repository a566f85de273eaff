//! Attaching by a fastmap: the fastmap is read and checked, and the PEBs of its pools are scanned.

use std::collections::{BTreeMap, BTreeSet};

use super::super::attach::{Claim, Scan};
use super::super::format::{EcHeader, FASTMAP_DATA_VOLUME, FASTMAP_VOLUME, Found, VidHeader};
use super::super::{AttachError, Ubi};
use super::Fastmap;
use super::format::{Counted, SUPERBLOCK_SIZE, Snapshot, Superblock, VolumeMap};
use crate::mtd::ReadQuality;

impl Ubi {
    /// Attach by the newest fastmap whose anchor is in `head`, the scan of the first PEBs. `None`
    /// if there is no fastmap or if it is damaged in any way; all PEBs must be scanned then.
    ///
    /// All PEBs are also scanned if a header in `head` is damaged, since it may belong to a newer
    /// anchor. Linux would use the older fastmap.
    ///
    /// This costs the pages of the fastmap and one or two page reads for each PEB of the pools.
    pub(in crate::ubi) fn scan_fastmap(
        &mut self,
        head: &Scan,
    ) -> Result<Option<(Scan, Fastmap)>, AttachError> {
        let fastmap = Fastmap::new(self.mtd.block_count(), self.layout);
        let anchor = head.newest_anchor().filter(|_| !head.is_unclear);
        let (Some(mut fastmap), Some(anchor)) = (fastmap, anchor) else {
            return Ok(None);
        };
        let Some((superblock, snapshot)) = self.read_fastmap(anchor, fastmap.block_count)? else {
            return Ok(None);
        };
        let good = (0..self.mtd.block_count()).filter(|&peb| !self.mtd.is_bad(peb)).collect();
        let Some(mut scan) = believe(good, &superblock, &snapshot) else { return Ok(None) };
        // A power cut may have left a header in a PEB that was free when this fastmap was written.
        let is_free = |&peb: &u32| peb >= super::ANCHORS_END || head.free.contains(&peb);
        let (free, erase): (Vec<u32>, Vec<u32>) = scan.free.into_iter().partition(is_free);
        scan.free = free;
        scan.erase.extend(erase);
        let volumes: BTreeSet<u32> = snapshot.volumes.iter().map(|volume| volume.id).collect();
        for &peb in snapshot.pools.iter().flat_map(|pool| &pool.pebs) {
            if !self.scan_pooled(peb, &volumes, &mut scan)? {
                return Ok(None);
            }
        }
        let of_fastmap = scan.claims.iter().filter(|(_, claim)| claim.vid.sequence == 0);
        self.unchecked = of_fastmap.map(|(&key, _)| key).collect();
        fastmap.blocks = superblock.blocks.iter().map(|&(peb, _)| peb).collect();
        for (pool, found) in fastmap.pools.iter_mut().zip(&snapshot.pools) {
            pool.size_max = found.size_max;
        }
        Ok(Some((scan, fastmap)))
    }

    /// Read the fastmap of `block_count` PEBs that `anchor` begins.
    fn read_fastmap(
        &mut self,
        anchor: u32,
        block_count: usize,
    ) -> Result<Option<(Superblock, Snapshot)>, AttachError> {
        let mut start = [0; SUPERBLOCK_SIZE];
        self.mtd.read(self.place(anchor, self.layout.data_offset), &mut start)?;
        let superblock = Superblock::parse(&start).filter(|superblock| {
            superblock.blocks.len() == block_count && superblock.blocks[0].0 == anchor
        });
        let Some(superblock) = superblock else { return Ok(None) };
        let mut bytes = vec![0; self.leb_size() as usize * block_count];
        for (lnum, part) in (0..).zip(bytes.chunks_mut(self.leb_size() as usize)) {
            let (peb, _) = superblock.blocks[lnum as usize];
            if !self.is_fastmap_block(peb, lnum)? {
                return Ok(None);
            }
            let at = self.place(peb, self.layout.data_offset);
            if matches!(self.mtd.read(at, part)?, ReadQuality::Damaged(_)) {
                return Ok(None);
            }
        }
        Ok(Snapshot::parse(bytes).map(|snapshot| (superblock, snapshot)))
    }

    /// Whether a PEB's headers say that it is block `lnum` of a fastmap.
    fn is_fastmap_block(&mut self, peb: u32, lnum: u32) -> Result<bool, AttachError> {
        if peb >= self.mtd.block_count() || self.mtd.is_bad(peb) {
            return Ok(false);
        }
        let (ec, vid, _) = self.read_headers(peb)?;
        let (Found::Valid(_), Found::Valid(vid)) = (ec, vid) else { return Ok(false) };
        self.sequence = self.sequence.max(vid.sequence);
        let volume = if lnum == 0 { FASTMAP_VOLUME } else { FASTMAP_DATA_VOLUME };
        Ok(vid.volume == volume)
    }

    /// Look at a PEB of a pool. Returns false if it is damaged: a scan of all PEBs must then
    /// decide.
    fn scan_pooled(
        &mut self,
        peb: u32,
        volumes: &BTreeSet<u32>,
        scan: &mut Scan,
    ) -> Result<bool, AttachError> {
        let (ec, vid, quality) = self.read_headers(peb)?;
        let Found::Valid(EcHeader { erase_count, .. }) = ec else { return Ok(false) };
        scan.counts.insert(peb, erase_count);
        match vid {
            Found::Valid(vid) if volumes.contains(&vid.volume) => {
                self.claim(scan, Claim { peb, vid })?;
                Ok(true)
            }
            Found::Blank if quality == ReadQuality::Clean => {
                scan.free.push(peb);
                Ok(true)
            }
            Found::Blank if quality == ReadQuality::Corrected => {
                scan.erase.push(peb);
                Ok(true)
            }
            Found::Valid(_) | Found::Blank | Found::Corrupt => Ok(false),
        }
    }
}

/// Check what a fastmap says of the PEBs. Each of the `good` PEBs must be listed exactly once, and
/// each PEB with a LEB must be in use for that LEB alone. `None` otherwise.
fn believe(good: BTreeSet<u32>, superblock: &Superblock, snapshot: &Snapshot) -> Option<Scan> {
    let mut scan = Scan::default();
    let mut left = good;
    for &peb in snapshot.pools.iter().flat_map(|pool| &pool.pebs) {
        left.remove(&peb).then_some(())?;
    }
    let mut list = |counted: &[Counted]| {
        let one = |&(peb, count): &Counted| {
            scan.counts.insert(peb, count.into());
            left.remove(&peb).then_some(peb)
        };
        counted.iter().map(one).collect::<Option<Vec<u32>>>()
    };
    list(&superblock.blocks)?;
    let (free, erase) = (list(&snapshot.free)?, list(&snapshot.erase)?);
    let (used, scrub) = (list(&snapshot.used)?, list(&snapshot.scrub)?);
    if !left.is_empty() {
        return None;
    }
    let mut unmapped: BTreeSet<u32> = used.iter().chain(&scrub).copied().collect();
    for volume in &snapshot.volumes {
        let before = scan.claims.len();
        let claims = claims(volume, &mut unmapped)?;
        let count = claims.len();
        scan.claims.extend(claims);
        // Two volumes of the same number make the fastmap invalid.
        (scan.claims.len() == before + count).then_some(())?;
    }
    (scan.free, scan.erase, scan.scrub) = (free, erase, scrub);
    scan.erase.extend(unmapped);
    Some(scan)
}

/// The PEBs that hold a volume's LEBs. Each must be in `unmapped`, and is taken out of it.
fn claims(volume: &VolumeMap, unmapped: &mut BTreeSet<u32>) -> Option<BTreeMap<(u32, u32), Claim>> {
    let mapped = (0..).zip(&volume.pebs).filter_map(|(lnum, peb)| Some((lnum, (*peb)?)));
    let claim = |(lnum, peb)| {
        // The sequence number is lower than any, so that the header of a pool's PEB wins.
        let vid = VidHeader { volume: volume.id, lnum, sequence: 0, copied: None };
        unmapped.remove(&peb).then_some(((volume.id, lnum), Claim { peb, vid }))
    };
    mapped.map(claim).collect()
}
