import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository-root.js';

/** The last release whose usage data had the first format. */
export const formerRelease = '644f516';

/**
 * The folder `dist` of an earlier commit, of its core and adapters; built once and kept beside the installed packages, of
 * whose current versions it uses. If the commit is missing, throws an error that says what to do.
 */
export function builtRelease(commit: string): string {
  const modules = realpathSync(join(repositoryRoot, 'node_modules'));
  const cache = join(modules, '.cache', 'releases');
  const built = join(cache, commit);
  if (existsSync(built)) return join(built, 'dist');
  if (!hasRelease(commit))
    throw new Error(
      `commit ${commit} is not in this clone, so the release cannot be built: fetch the whole history (git fetch --unshallow)`,
    );
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, 'draft-'));
  try {
    const sources = git(['archive', '--format=tar', commit, 'core', 'package.json', 'tsconfig.base.json']);
    execFileSync('tar', ['-x', '-C', draft], { input: sources });
    symlinkSync(modules, join(draft, 'node_modules'));
    execFileSync(process.execPath, [join(modules, 'typescript', 'bin', 'tsc'), '-b', 'core/adapters'], {
      cwd: draft,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    renameSync(draft, built);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another process may have built it meanwhile.
    if (!existsSync(built)) throw error;
  }
  return join(built, 'dist');
}

/** False in a shallow clone: `git fetch --unshallow` brings the commit. */
export function hasRelease(commit: string): boolean {
  try {
    git(['cat-file', '-e', `${commit}^{commit}`]);
    return true;
  } catch {
    return false;
  }
}

function git(args: readonly string[]): Buffer {
  return execFileSync('git', args, {
    cwd: repositoryRoot,
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
