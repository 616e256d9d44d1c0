import { spawnSync } from 'node:child_process';

/** Numbers of the system calls that Docker's default profile refuses without SYS_NICE (asm/unistd.h). */
const NUMBERS: Record<string, Record<string, number>> = {
  x64: { mbind: 237, get_mempolicy: 239 },
  arm64: { mbind: 235, get_mempolicy: 236 },
};

/** Refuses each call given by its number with EPERM (seccomp(2): load the number, compare, answer), then runs what follows. */
const SCRIPT = `
import ctypes, os, struct, sys
refused = [int(number) for number in sys.argv[1].split(',')]
one = lambda code, jt, jf, k: struct.pack('HBBI', code, jt, jf, k)
program = one(0x20, 0, 0, 0)
for number in refused: program += one(0x15, 0, 1, number) + one(0x06, 0, 0, 0x00050001)
program += one(0x06, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(program)
class Program(ctypes.Structure): _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) != 0: sys.exit('no_new_privs is refused')
wanted = Program(len(program) // 8, ctypes.addressof(buffer))
if libc.prctl(22, 2, ctypes.byref(wanted), 0, 0) != 0: sys.exit('a seccomp filter is refused')
os.execvp(sys.argv[2], sys.argv[2:])
`;

/** A command that runs what follows it under a real filter which refuses these calls; or why there is none here. */
export function refusing(...calls: string[]): string[] | string {
  const numbers = NUMBERS[process.arch];
  if (numbers === undefined) return `the numbers of system calls on ${process.arch} are not known`;
  const command = ['python3', '-c', SCRIPT, calls.map((call) => numbers[call]).join(',')];
  const tried = spawnSync(command[0] as string, [...command.slice(1), 'true'], { encoding: 'utf8' });
  if (tried.status === 0) return command;
  return `no seccomp filter can be had: ${tried.error?.message ?? tried.stderr.trim()}`;
}
