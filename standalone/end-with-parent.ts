import { spawn, type ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';

/**
 * Makes a child process end with ours, however we die: a shell waits for the end of its standard input, a pipe from us that the
 * system closes, sends the child `signal`, and removes `folder` once the child is gone. Node has no parent-death signal. Windows
 * has no such shell: there only an orderly stop ends the child. Returns a function that ends the watch; call it before the child
 * is stopped, since a later process could get its id.
 */
export function endWithParent(
  child: ChildProcess,
  folder?: string,
  signal: 'TERM' | 'INT' = 'TERM',
): () => void {
  if (child.pid === undefined || process.platform === 'win32') return () => {};
  const script =
    'cat >/dev/null; kill -"$2" "$0" 2>/dev/null; while kill -0 "$0" 2>/dev/null; do sleep 0.2; done; [ -z "$1" ] || rm -rf "$1"';
  const watchdog = spawn('/bin/sh', ['-c', script, String(child.pid), folder ?? '', signal], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watchdog.on('error', () => {});
  watchdog.stdin?.on('error', () => {});
  // Our process does not go on for the sake of the watch.
  watchdog.unref();
  if (watchdog.stdin instanceof Socket) watchdog.stdin.unref();
  return () => void watchdog.kill('SIGKILL');
}
