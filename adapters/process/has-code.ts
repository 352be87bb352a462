/** True for the error of a system call with this code: `ENOENT` where a file does not exist. */
export function hasCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
