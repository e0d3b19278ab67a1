# What discover wants to know about a host. Any POSIX shell runs it, as root where it may; no Python is needed, nothing is
# changed. It prints sections, "@@ name" and raw lines; hpcprov.discovery.facts reads them.

LC_ALL=C
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin:/opt/slurm/sbin
export LC_ALL PATH

section() { printf '\n@@ %s\n' "$1"; }
have() { command -v "$1" >/dev/null 2>&1; }
# A dying GPU or management controller must not stop the rest.
within() {
  if have timeout; then timeout "$@"; else shift; "$@"; fi
}

section started
date +%s.%N

section identity
echo "uid=$(id -u)"
read -r hostname </proc/sys/kernel/hostname
echo "hostname=$hostname"
echo "kernel=$(uname -r)"
echo "machine=$(uname -m)"
if [ -e /run/systemd/container ] || [ -e /run/.containerenv ] || [ -e /.dockerenv ]; then echo container=yes; fi
read -r boot </proc/sys/kernel/random/boot_id
# Containers of one machine share its boot, never these namespaces; clones of one disk share neither.
echo "instance=$boot $(readlink /proc/self/ns/uts) $(readlink /proc/self/ns/pid)"

section os-release
cat /etc/os-release 2>/dev/null

section dmi
for name in sys_vendor product_name product_serial; do
  if value=$(cat /sys/class/dmi/id/$name 2>/dev/null); then echo "$name=$value"; fi
done

section lscpu
if have lscpu; then lscpu; else cat /proc/cpuinfo | head -n 2000; fi
section lscpu-p
if have lscpu; then lscpu -p=CPU,CORE,SOCKET,NODE; fi

section memory
grep '^MemTotal:' /proc/meminfo

section lsblk
if have lsblk; then lsblk -b -P -o NAME,KNAME,PKNAME,TYPE,SIZE,ROTA,RM,MODEL,MOUNTPOINT,FSTYPE; fi
section block
for device in /sys/block/*; do
  if [ -e "$device/size" ]; then
    echo "${device##*/} $(cat "$device/size") $(cat "$device/queue/rotational") $(cat "$device/removable")"
  fi
done 2>/dev/null

section links
for link in /sys/class/net/*; do
  [ -e "$link/address" ] || continue
  kind=virtual
  if [ -e "$link/device" ]; then kind=physical; fi
  # A management controller shows itself as a network card on USB.
  case $(readlink -f "$link/device") in */usb*) kind=usb ;; esac
  if [ -d "$link/bonding" ]; then kind=bond; fi
  if [ -d "$link/bridge" ]; then kind=bridge; fi
  master=$(readlink "$link/master" 2>/dev/null)
  permanent=$(cat "$link/bonding_slave/perm_hwaddr" 2>/dev/null)
  echo "${link##*/} mac=$(cat "$link/address") type=$(cat "$link/type") state=$(cat "$link/operstate")" \
    "speed=$(cat "$link/speed" 2>/dev/null) mtu=$(cat "$link/mtu") kind=$kind master=${master##*/} permanent=$permanent"
done

section addresses
if have ip; then ip -o addr show; fi
section all-addresses
if ! have ip; then hostname -I; fi
section route
if have ip; then ip -o route show default; fi

section pci
if have lspci && lspci -D -n 2>/dev/null; then :; else
  # As lspci -n prints it.
  for device in /sys/bus/pci/devices/*; do
    [ -e "$device/class" ] || continue
    class=$(cat "$device/class") vendor=$(cat "$device/vendor") model=$(cat "$device/device")
    class=${class#0x}
    echo "${device##*/} ${class%??}: ${vendor#0x}:${model#0x}"
  done
fi

section nvidia-smi
if have nvidia-smi; then
  within 30 nvidia-smi --query-gpu=index,name,memory.total,uuid,driver_version,pci.bus_id --format=csv,noheader,nounits
fi
section nvidia-devices
ls -d /dev/nvidia[0-9]* 2>/dev/null

section infiniband
for port in /sys/class/infiniband/*/ports/*; do
  [ -e "$port/link_layer" ] || continue
  device=${port#/sys/class/infiniband/}
  echo "${device%%/*} port=${port##*/} layer=$(cat "$port/link_layer") state=$(cat "$port/state" | tr -d ' ')" \
    "guid=$(cat "/sys/class/infiniband/${device%%/*}/node_guid") rate=$(cat "$port/rate")"
done 2>/dev/null

section bmc
# The driver is there exactly where a management controller is, or was found by the firmware.
for device in /dev/ipmi0 /dev/ipmi/0 /dev/ipmidev/0; do if [ -e "$device" ]; then echo "device=$device"; fi; done
if have dmidecode && [ -r /dev/mem ]; then dmidecode -t 38 2>/dev/null | grep -q 'Interface Type' && echo "dmi=yes"; fi
if have ipmitool && { [ -e /dev/ipmi0 ] || [ -e /dev/ipmi/0 ] || [ -e /dev/ipmidev/0 ]; }; then
  for channel in 1 2 3 8; do
    echo "channel=$channel"
    within 10 ipmitool lan print "$channel" 2>/dev/null
  done
fi

section slurmd
if have slurmd; then within 10 slurmd -C; slurmd -V; fi

section finished
date +%s.%N
section end
