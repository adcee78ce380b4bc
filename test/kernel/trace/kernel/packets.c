/*
 * Sends frames and packets as they stand on stdin, and prints what arrives. One line each, in hexadecimal:
 *   packets outside p0 p1 …   "0 FRAME" goes out by p0; what any of them receives is printed as "0 FRAME"
 *   packets inside            "4 PACKET" or "6 PACKET", headers included, is sent by the kernel of this namespace, as user 12345
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX 16
static unsigned char bytes[65536];

static int fail(const char *what) { perror(what); exit(1); }

static int parse(const char *hex) {
	int n = 0; unsigned one;
	for (; sscanf(hex, "%2x", &one) == 1; hex += 2) bytes[n++] = one;
	return n;
}

static int outside(const char *name) {
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(name) };
	if (fd < 0 || !at.sll_ifindex || bind(fd, (void *)&at, sizeof at)) fail(name);
	return fd;
}

static int inside(int version) {
	int on = 1, fd = socket(version == 4 ? AF_INET : AF_INET6, SOCK_RAW, IPPROTO_RAW);
	if (fd < 0 || setsockopt(fd, version == 4 ? IPPROTO_IP : IPPROTO_IPV6, version == 4 ? IP_HDRINCL : 36 /* IPV6_HDRINCL */, &on, sizeof on)) fail("raw socket");
	return fd;
}

static void send_inside(int fd, int version, int n) {
	struct sockaddr_in to4 = { .sin_family = AF_INET };
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6 };
	memcpy(&to4.sin_addr, bytes + 16, 4); memcpy(&to6.sin6_addr, bytes + 24, 16);
	sendto(fd, bytes, n, 0, version == 4 ? (void *)&to4 : (void *)&to6, version == 4 ? sizeof to4 : sizeof to6);
}

int main(int argc, char **argv) {
	int count = argc - 2, is_inside = argc == 2, fd[MAX];
	static char line[140000];
	if (is_inside) { setfsuid(12345); fd[0] = inside(4); fd[1] = inside(6); count = 0; }
	else for (int i = 0; i < count && i < MAX; i++) fd[i] = outside(argv[i + 2]);
	struct pollfd p[MAX + 1] = { { .fd = 0, .events = POLLIN } };
	for (int i = 0; i < count; i++) p[i + 1] = (struct pollfd){ .fd = fd[i], .events = POLLIN };
	setvbuf(stdout, NULL, _IOLBF, 0); setvbuf(stdin, NULL, _IONBF, 0);
	puts("ready");
	for (;;) {
		if (poll(p, count + 1, -1) < 0) fail("poll");
		if (p[0].revents) {
			int to, at;
			if (!fgets(line, sizeof line, stdin)) return 0;
			if (sscanf(line, "%d %n", &to, &at) != 1) continue;
			int n = parse(line + at);
			if (is_inside) send_inside(fd[to == 6], to, n);
			else if (write(fd[to], bytes, n) != n) perror("write");
		}
		for (int i = 0; i < count; i++) if (p[i + 1].revents & POLLIN) {
			struct sockaddr_ll from; socklen_t size = sizeof from;
			int n = recvfrom(fd[i], bytes, sizeof bytes, 0, (void *)&from, &size);
			if (n <= 0 || from.sll_pkttype == PACKET_OUTGOING) continue;
			printf("%d ", i);
			for (int j = 0; j < n; j++) printf("%02x", bytes[j]);
			putchar('\n');
		}
	}
}
