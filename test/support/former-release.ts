import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository-root.js';

/** An earlier commit, and where its store on Redis is. */
export type Release = {
  readonly commit: string;
  /** Folders of core and adapters, and the project that builds them. */
  readonly sources: readonly string[];
  readonly project: string;
  /** Of what is built: the modules of the store, and of the copy of its epoch in a file. */
  readonly usage: string;
  readonly epochMirror: string;
};

/** The last release whose usage data had the first format. */
export const formerRelease: Release = {
  commit: '644f516',
  sources: ['core'],
  project: 'core/adapters',
  usage: 'core/adapters/store/redis/usage.js',
  epochMirror: 'core/adapters/store/file-epoch-mirror.js',
};

/** The last one that does not know commits. */
export const releaseWithoutCommits: Release = {
  commit: 'b2f80d9',
  sources: ['core', 'adapters'],
  project: 'adapters',
  usage: 'adapters/usage/redis/usage.js',
  epochMirror: 'adapters/usage/file-epoch-mirror.js',
};

/**
 * The folder `dist` of an earlier release; built once and kept beside the installed packages, of whose current versions it
 * uses. If the commit is missing, throws an error that says what to do.
 */
export function builtRelease(release: Release): string {
  const { commit } = release;
  const modules = realpathSync(join(repositoryRoot, 'node_modules'));
  const cache = join(modules, '.cache', 'releases');
  const built = join(cache, commit);
  if (existsSync(built)) return join(built, 'dist');
  if (!hasRelease(release))
    throw new Error(
      `commit ${commit} is not in this clone, so the release cannot be built: fetch the whole history (git fetch --unshallow)`,
    );
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, 'draft-'));
  try {
    const sources = git([
      'archive',
      '--format=tar',
      commit,
      ...release.sources,
      'package.json',
      'tsconfig.base.json',
    ]);
    execFileSync('tar', ['-x', '-C', draft], { input: sources });
    symlinkSync(modules, join(draft, 'node_modules'));
    // Its types were checked when it was made.
    const tsc = join(modules, 'typescript', 'bin', 'tsc');
    execFileSync(process.execPath, [tsc, '-b', release.project, '--noCheck'], {
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
export function hasRelease({ commit }: Release): boolean {
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
