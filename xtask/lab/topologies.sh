# All kinds of disks: 512n vda, 16K vdb, hardware-raid vdc, usb-bridge vdd, md-raid0 md0 of vde and vdf, dm-stripe dm-0
# of vdg and vdh, 512e sda, 4Kn nvme0n1, 1-aligned sdb.
modprobe virtio_pci
modprobe virtio_blk
modprobe nvme
modprobe sd_mod
modprobe ahci
await sda
modprobe scsi_debug dev_size_mb=64 sector_size=512 physblk_exp=3 lowest_aligned=7
await sdb
await vdh
await nvme0n1
modprobe raid0
mdadm --create /dev/md0 --run --level=0 --raid-devices=2 --chunk=64 /dev/vde /dev/vdf
await md0
modprobe dm_mod
sectors=$(($(cat /sys/block/vdg/size) * 2))
dmsetup create lab-stripe --table "0 $sectors striped 2 128 /dev/vdg 0 /dev/vdh 0"
await dm-0
