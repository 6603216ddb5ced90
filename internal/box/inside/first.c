// The first process in a box. It runs before main, and before the runtime of Go: that, and what the linked
// packages do when they are loaded, takes ten times as long as the whole of this. There is one thread, which
// Landlock restricts, and which becomes the program.

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef __GLIBC__
#error "only glibc hands the arguments to constructors"
#endif

enum { failed = 126 }; // the status of a box that could not be made

// Descriptors of a process that tries its walls; box.Alive and box.Line.
enum { alive = 3, line = 4 };

// The kernel's interface, in words of our own: the headers of the machine that builds may be older.
enum { sys_close_range = 436, sys_create_ruleset = 444, sys_add_rule = 445, sys_restrict_self = 446 };
enum { close_on_exec = 1 << 2, ask_version = 1, for_files = 1, for_ports = 2 };
enum { connect_tcp = 1 << 1, send_udp = 1 << 3, scope_abstract = 1 << 0, scope_signal = 1 << 1 };
enum {
	execute = 1 << 0, write_file = 1 << 1, read_file = 1 << 2, read_dir = 1 << 3, make_sym = 1 << 12, refer = 1 << 13,
	truncates = 1 << 14, ioctl_dev = 1 << 15, resolve_unix = 1 << 16,
	// All that versions of the interface know, by the last use that came with each.
	up_to_sym = make_sym * 2 - 1, up_to_refer = refer * 2 - 1, up_to_truncate = truncates * 2 - 1, up_to_ioctl = ioctl_dev * 2 - 1,
	up_to_resolve = resolve_unix * 2 - 1,
	// The uses of what is listed. Those that the kernel does not know are left out.
	may_read_file = execute | read_file, may_read_dir = may_read_file | read_dir,
	may_write_file = may_read_file | write_file | truncates | ioctl_dev | resolve_unix, may_write_dir = up_to_resolve,
};
struct ruleset { uint64_t files, ports, scoped; };
struct beneath { uint64_t allowed; int32_t parent; } __attribute__((packed));
struct port { uint64_t allowed, number; };

static _Noreturn void fail(const char *what, const char *path) {
	int error = errno;
	fprintf(stderr, "stint boxed: %s: %s%s%s\n", what, path, *path ? ": " : "", strerror(error));
	_exit(failed);
}

// order is what to do, see box.Order: words, whose first letters say what they are.
struct order { char **word; int words; };

// says reports whether a word of the order begins with a letter.
static int says(struct order o, char letter) {
	for (int i = 0; i < o.words; i++)
		if (o.word[i][0] == letter)
			return 1;
	return 0;
}

// each goes through the words of the order that begin with a letter; text is what follows that.
#define each(o, letter, text) \
	for (int i_ = 0; i_ < (o).words; i_++) \
		for (const char *text = (o).word[i_][0] == (letter) ? (o).word[i_] + 1 : NULL; text; text = NULL)

static int version(void) {
	long v = syscall(sys_create_ruleset, NULL, 0, ask_version);
	return v < 0 ? 0 : v;
}

// handled is what a version of the interface can restrict.
static struct ruleset handled(int v) {
	static const uint64_t files[] = {
		0, up_to_sym, up_to_refer, up_to_truncate, up_to_truncate, up_to_ioctl, up_to_ioctl, up_to_ioctl, up_to_ioctl, up_to_resolve,
	};
	int last = sizeof files / sizeof *files - 1;
	struct ruleset all = {.files = files[v < last ? v : last]};
	if (v >= 4)
		all.ports = connect_tcp;
	if (v >= 10)
		all.ports |= send_udp;
	if (v >= 6)
		all.scoped = scope_abstract | scope_signal;
	return all;
}

// allow adds a rule for a folder or a file, whichever it is. For one that is missing there is none.
static void allow(int rules, const char *path, uint64_t folder, uint64_t file) {
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return;
	struct stat is;
	if (fd < 0 || fstat(fd, &is) != 0)
		fail("restrict by Landlock", path);
	struct beneath rule = {S_ISDIR(is.st_mode) ? folder : file, fd};
	if (syscall(sys_add_rule, rules, for_files, &rule, 0) != 0)
		fail("restrict by Landlock", path);
	close(fd);
}

// restrict_by puts the process, and the program that it becomes, behind Landlock as far as the kernel has it.
// Whether that is far enough, who made the order finds out by a trial.
static void restrict_by(struct order o) {
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		fail("forgo privileges", "");
	struct ruleset all = handled(version());
	int files = says(o, 'f');
	if (!files)
		all.files = 0;
	if (!says(o, 'n'))
		all.ports = 0;
	else if (says(o, 'p'))
		all.ports &= connect_tcp; // names of hosts are asked for by UDP
	if (!all.files && !all.ports && !all.scoped)
		return;
	int rules = syscall(sys_create_ruleset, &all, sizeof all, 0);
	if (rules < 0)
		fail("make rules of Landlock", "");
	if (files) {
		each(o, 'r', path) allow(rules, path, may_read_dir & all.files, may_read_file & all.files);
		each(o, 'w', path) allow(rules, path, may_write_dir & all.files, may_write_file & all.files);
	}
	if (all.ports)
		each(o, 'p', number) {
			struct port rule = {connect_tcp, strtoul(number, NULL, 10)};
			if (syscall(sys_add_rule, rules, for_ports, &rule, 0) != 0)
				fail("restrict by Landlock: port", number);
		}
	if (syscall(sys_restrict_self, rules, 0) != 0)
		fail("restrict by Landlock", "");
	close(rules);
}

// drop_capabilities leaves root with what any user may do to its own files and processes. The bounding set is
// dropped, too: programs that it starts would get them back by it.
static void drop_capabilities(void) {
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}};
	if (syscall(SYS_capget, &header, sets) != 0)
		fail("read capabilities", "");
	if (!(sets[0].permitted | sets[1].permitted))
		return;
	for (int c = 0; c < 64; c++)
		prctl(PR_CAPBSET_DROP, c, 0, 0, 0); // one that the kernel does not know, or that may not be dropped
	memset(sets, 0, sizeof sets);
	if (syscall(SYS_capset, &header, sets) != 0)
		fail("drop capabilities", "");
}

// reads reports whether a file can be opened for reading, or a folder be listed. Through a namespace, an empty
// folder may stand for it.
static int reads(const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	struct stat is;
	if (fstat(fd, &is) != 0 || !S_ISDIR(is.st_mode)) {
		close(fd);
		return 1;
	}
	DIR *dir = fdopendir(fd);
	if (!dir)
		fail("try the box", path);
	int found = 0;
	for (struct dirent *e; !found && (e = readdir(dir));)
		found = strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(dir);
	return found;
}

// attempt connects to an address, and returns the error; 0: none, -1: there are no such sockets.
static int attempt(int domain, const void *address, socklen_t size) {
	int fd = socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	int error = connect(fd, address, size) == 0 ? 0 : errno;
	close(fd);
	return error;
}

// connects_to reports whether a socket could be connected to. The name of an abstract one has a zero byte before it.
static int connects_to(const char *path, int abstract) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t n = strlen(path);
	if (n + 1 >= sizeof a.sun_path)
		return 0;
	memcpy(a.sun_path + abstract, path, n);
	int error = attempt(AF_UNIX, &a, offsetof(struct sockaddr_un, sun_path) + n + 1);
	return error == 0 || error == EAGAIN || error == ECONNREFUSED;
}

// reaches reports whether a port that is not listed may be asked for. Landlock says no before anything is sent.
static int reaches(struct order o) {
	unsigned long port = 9;
	for (int again = 1; again;) {
		again = 0;
		each(o, 'p', number)
			if (strtoul(number, NULL, 10) == port)
				again = 1;
		port += again;
	}
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int error = attempt(AF_INET, &a, sizeof a);
	return error >= 0 && error != EACCES;
}

// spaces_differ reports whether this process has other namespaces than its supervisor.
static int spaces_differ(struct order o) {
	static const char *const names[] = {"mnt", "pid", "ipc"};
	int n = 0;
	each(o, 'N', theirs) {
		char path[32], own[64] = "";
		if (n == 3)
			break;
		snprintf(path, sizeof path, "/proc/self/ns/%s", names[n++]);
		if (readlink(path, own, sizeof own - 1) < 0 || strcmp(own, theirs) == 0)
			return 0;
	}
	return n == 3;
}

static char made[64]; // a digit for each file that the trial was to make: 1 for one that it could

// try returns what came of the trial: the version of Landlock's interface, a letter for each wall that does not stand,
// and what it made. box.DecodeFound has the letters.
static void try(struct order o, char *found, size_t size) {
	char broken[32] = "", supervisor[64] = "";
	size_t b = 0, w = 0;
#define through(letter, got) do { if ((got) && b < sizeof broken - 1) broken[b++] = (letter); } while (0)
	each(o, 'W', path) {
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (w < sizeof made - 1)
			made[w++] = fd >= 0 ? '1' : '0';
		close(fd);
	}
	int read = 0;
	each(o, 'R', path) read |= reads(path);
	each(o, 'C', canary) {
		struct stat is;
		read |= reads(canary);
		int seen = lstat(canary, &is) == 0;
		through('n', seen || chmod(canary, 0600) == 0);
		through('t', seen && truncate(canary, is.st_size) == 0);
	}
	through('r', read);
	int apart = spaces_differ(o);
	through('s', !apart);
	if (!apart)
		each(o, 'P', pid) {
			snprintf(supervisor, sizeof supervisor, "/proc/%s/environ", pid);
			through('e', reads(supervisor));
			through('k', kill(atoi(pid), 0) == 0);
		}
	int connected = 0;
	each(o, 'S', path) connected |= connects_to(path, 0);
	through('u', connected);
	each(o, 'A', name) through('a', connects_to(name, 1));
	through('g', prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1);
	through('c', says(o, 'n') && reaches(o));
	through('l', reads("/")); // the root is not listed: only Landlock refuses to list it
	snprintf(found, size, "%d %s %s\n", version(), broken, made);
}

// receive waits for the files of the program: its input, its output, and its run's lock. It reports false where
// there is to be no session, or the supervisor has died.
static int receive(void) {
	char first;
	union { char bytes[CMSG_SPACE(3 * sizeof(int))]; struct cmsghdr head; } rights;
	struct iovec one = {&first, 1};
	struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights};
	ssize_t n;
	do
		n = recvmsg(line, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	struct cmsghdr *head = n == 1 ? CMSG_FIRSTHDR(&message) : NULL;
	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(3 * sizeof(int)))
		return 0;
	int files[3];
	memcpy(files, CMSG_DATA(head), sizeof files);
	return dup2(files[0], 0) >= 0 && dup2(files[1], 1) >= 0 && dup2(files[1], 2) >= 0 && dup2(files[2], alive) >= 0;
}

// read_all reads the line to its end; n is the number of bytes.
static char *read_all(size_t *n) {
	size_t room = 1 << 16;
	char *text = malloc(room);
	for (*n = 0; text;) {
		ssize_t got = read(line, text + *n, room - *n);
		if (got == 0)
			return text;
		if (got < 0 && errno != EINTR)
			return NULL;
		if (got > 0 && (*n += got) == room)
			text = realloc(text, room *= 2);
	}
	return NULL;
}

// become returns only if it fails.
static void become(const char *dir, const char *path, char **args, char **env) {
	if (*dir && chdir(dir) != 0)
		return;
	// Its supervisor blocked SIGTERM, which is for the program and not for what carries it.
	sigset_t none;
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) == 0)
		execve(path, args, env);
}

// hear becomes the program that the line names, see box.Program. It returns 0 where there is to be no session, also
// where the supervisor died in the middle of the name, and an error where there is no such program.
static int hear(struct order o) {
	size_t n, words = 0;
	char *text = receive() ? read_all(&n) : NULL;
	if (!text || n == 0 || text[n - 1])
		return 0;
	for (size_t i = 0; i < n; i++)
		words += text[i] == 0;
	char **word = calloc(words + 2, sizeof *word); // room for the ends of both lists
	if (!word)
		return ENOMEM;
	size_t counts[2] = {0}, at = 0;
	char *next = text;
	for (int i = 0; i < 2 && at < words; i++, at++, next += strlen(next) + 1)
		counts[i] = strtoul(next, NULL, 10);
	if (words < 5 || counts[0] < 1 || counts[0] > words || counts[1] > words || words != 4 + counts[0] + counts[1])
		return 0;
	char *path = next, *dir = path + strlen(path) + 1, **args = word, **env = word + counts[0] + 1;
	next = dir + strlen(dir) + 1;
	for (size_t i = 0; i < counts[0]; i++, next += strlen(next) + 1)
		args[i] = next;
	for (size_t i = 0; i < counts[1]; i++, next += strlen(next) + 1)
		env[i] = next;
	// Files that it made are in folders of the namespace's own: else there would be no session.
	size_t w = 0;
	each(o, 'W', file)
		if (made[w] && made[w++] == '1')
			unlink(file);
	become(dir, path, args, env);
	return errno;
}

// try_and_wait tries the walls, reports what came of it, and becomes the program once it hears of one.
static _Noreturn void try_and_wait(struct order o) {
	char found[128];
	try(o, found, sizeof found);
	if (write(line, found, strlen(found)) < 0)
		fail("report", "");
	int error = hear(o);
	if (error)
		dprintf(line, "%d", error); // its standard error is the program's by now
	_exit(error ? failed : 0);
}

__attribute__((constructor)) static void first(int argc, char **argv) {
	if (argc < 2 || strcmp(argv[1], "boxed") != 0)
		return;
	struct order o = {argv + 2, 0};
	while (o.words < argc - 2 && strcmp(o.word[o.words], "--") != 0)
		o.words++;
	int waits = says(o, 't');
	// The program gets what it is to have, and not what others forgot to close.
	if (syscall(sys_close_range, waits ? line : alive, ~0U, close_on_exec) != 0)
		fail("close descriptors", "");
	restrict_by(o);
	drop_capabilities();
	if (waits)
		try_and_wait(o);
	char **program = o.word + o.words + 1; // its path, and its arguments from its name on
	errno = EINVAL;
	if (argc - 2 - o.words < 3)
		fail("find the program", "");
	unsetenv("PWD"); // bubblewrap's doing; nobody has listed it
	become("", program[0], program + 1, environ);
	fail("become", program[0]);
}
