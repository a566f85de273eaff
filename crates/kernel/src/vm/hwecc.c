// SPDX-License-Identifier: MIT OR GPL-2.0-only
// nandsim as a controller that corrects errors in hardware: whole pages are read and kept, as with
// the controllers of the boards, and the guest computes no codes.
#include <linux/module.h>
#include <linux/mtd/mtd.h>
#include <linux/mtd/rawnand.h>

static int read_page(struct nand_chip *chip, u8 *bytes, int oob_wanted, int page)
{
	return nand_read_page_raw(chip, bytes, oob_wanted, page);
}

/* nandsim takes a program of a whole page only, spare bytes included. */
static int write_page(struct nand_chip *chip, const u8 *bytes, int oob_given, int page)
{
	return nand_write_page_raw(chip, bytes, 1, page);
}

static int __init attach(void)
{
	struct mtd_info *mtd = get_mtd_device(NULL, 0);
	struct nand_chip *chip;

	if (IS_ERR(mtd))
		return PTR_ERR(mtd);
	chip = mtd_to_nand(mtd_get_master(mtd));
	chip->options &= ~NAND_SUBPAGE_READ;
	chip->ecc.read_page = read_page;
	chip->ecc.write_page = write_page;
	/* The device is kept: its chip now calls into this module, which has no exit. */
	return 0;
}
module_init(attach);
MODULE_DESCRIPTION("nandsim as a controller with hardware ECC");
MODULE_LICENSE("Dual MIT/GPL");
