# A "machine" in namespaces of its own: network, processes, mounts, name. Run as `sh machine.sh
# FOLDER ADDRESS MARK`, first in its PID namespace: all of it ends with this. What is below FOLDER
# is shared with the host; homes and /run are not.
set -eu
folder=$1
address=$2
mark=$3
mount --make-rprivate /
hostname "$mark"
for own in home root run etc/systemd etc/docker; do
  mkdir -p "$folder/own/$own"
  mount --bind "$folder/own/$own" "/$own"
done
mount --bind "$folder/meminfo" /proc/meminfo
# Its own interfaces, and the host's control groups.
mkdir -p /run/cgroup
mount --rbind /sys/fs/cgroup /run/cgroup
mount -t sysfs sysfs /sys
mount --rbind /run/cgroup /sys/fs/cgroup
mkdir -p /run/sshd /root/.ssh
chmod 700 /root /root/.ssh
cp "$folder/client.pub" /root/.ssh/authorized_keys
ip link set lo up
while ! ip link set eth0 up 2>/dev/null; do sleep 0.05; done
ip address add "$address/30" dev eth0
/usr/sbin/sshd -f "$folder/sshd_config" -E "$folder/sshd.log"
node "$folder/forward.cjs" "$4" "$folder/registry.sock" >>"$folder/forward.log" 2>&1 &
exec dockerd --config-file "$folder/daemon.json" --data-root "$folder/data" --exec-root /run/docker-exec \
  --pidfile /run/docker.pid --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/$mark" \
  --iptables=false --ip6tables=false >"$folder/dockerd.log" 2>&1
