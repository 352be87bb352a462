import type { Ambient } from '../../core/ambient.js';
import { kinds } from '../../core/resources/kinds.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { EpochMs } from '../../core/units/time.js';
import {
  type AppliedObject,
  type AppliedTexts,
  applyManifests,
  formatIdentity,
  manifestObjects,
  withdraw,
} from './apply-manifests.js';
import { readManifestFiles, watchDirectory, type ManifestFile } from './manifest-files.js';
import { formatManifestProblem, type Identity, type ManifestProblem } from './parse-manifest.js';
import { errorMessage } from '../../core/errors.js';

/**
 * A directory of YAML manifests as one of the writers of resources, the field manager `manifests`.
 *
 * - Each pass reads what changed and makes the store agree; a pass that finds nothing to do writes nothing.
 * - A bad document or file is reported separately: the others are applied, and its objects keep their last good state.
 * - Objects that no manifest names any longer are withdrawn, once they have been missing for a moment: editors remove a
 *   file before they write it again. The field ownership in the store shows which objects came from the directory, so a
 *   file that is removed while the process is down is noticed too.
 * - While a document is unreadable, the objects that it may contain are kept.
 */
export type ManifestSource = ReturnType<typeof createManifestSource>;

type Report = {
  readonly files: readonly string[];
  readonly objects: readonly AppliedObject[];
  readonly problems: readonly ManifestProblem[];
};

type ManifestSourceDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly directory: string;
  readonly resources: Pick<ResourceStore, 'apply' | 'delete' | 'list'>;
};

/** How long an object must be missing from the directory before it is withdrawn. */
const settleMs = 300;
/** The wait before a store that could not answer is asked again. */
const retryMs = 1000;
/** The wait before a refused manifest is tried again: its owner, or an object that it refers to, may have changed. */
const reviewMs = 30_000;

export function createManifestSource(deps: ManifestSourceDeps) {
  const { directory, resources, log, clock } = deps;
  const applied: AppliedTexts = new Map();
  /** Objects that came from the directory and were not withdrawn; the file is known for those seen in this run. */
  const ours = new Map<string, Identity & { readonly file?: string }>();
  const missingSince = new Map<string, EpochMs>();
  let files = new Map<string, ManifestFile>();
  let report: Report = { files: [], objects: [], problems: [] };
  let hasInherited = false;

  async function pass(): Promise<void> {
    files = await readManifestFiles(directory, files);
    const failures: ManifestProblem[] = [];
    await inherit().catch((error: unknown) => failures.push(storeProblem(directory, error)));
    const result = await applyManifests(resources, files.values(), applied);
    for (const object of result.applied) ours.set(formatIdentity(object), object);
    const named = new Set<string>();
    for (const file of files.values())
      for (const identity of file.identities) {
        named.add(formatIdentity(identity));
        // A document that is wrong now still says in which file its object is.
        if (ours.has(formatIdentity(identity)))
          ours.set(formatIdentity(identity), { ...identity, file: file.name });
      }
    await withdrawMissing(named, failures);

    show({
      files: [...files.keys()],
      objects: result.applied,
      problems: [
        ...[...files.values()].flatMap((file) => file.problems),
        ...result.problems,
        ...failures,
      ].toSorted(byPlace),
    });
    for (const since of missingSince.values()) passes.after(Math.max(0, since + settleMs - clock.now()) + 10);
    if (result.isRetryable || failures.length > 0) passes.after(retryMs);
    else if (result.problems.length > 0) passes.after(reviewMs);
  }

  /** Reads once what earlier runs have applied. */
  async function inherit(): Promise<void> {
    if (hasInherited) return;
    for (const object of await manifestObjects(resources)) ours.set(formatIdentity(object), object);
    hasInherited = true;
  }

  async function withdrawMissing(named: ReadonlySet<string>, failures: ManifestProblem[]): Promise<void> {
    const incomplete = [...files.values()].filter((file) => !file.isComplete);
    // Objects that refer to others are withdrawn before those.
    const candidates = [...ours].toSorted(([, a], [, b]) => kinds.indexOf(b.kind) - kinds.indexOf(a.kind));
    for (const [id, object] of candidates) {
      const isHeld = incomplete.some(
        ({ name, text }) => name === object.file || text === '' || text.includes(object.key.name),
      );
      if (named.has(id) || isHeld) {
        missingSince.delete(id);
        continue;
      }
      const since = missingSince.get(id) ?? clock.now();
      missingSince.set(id, since);
      if (clock.now() - since < settleMs) continue;
      try {
        await withdraw(resources, object);
      } catch (error) {
        failures.push(storeProblem(object.file ?? directory, error));
        continue;
      }
      log.info('manifest object withdrawn', { kind: object.kind, ...object.key });
      for (const forgotten of [ours, missingSince, applied]) forgotten.delete(id);
    }
  }

  function show(next: Report): void {
    const before = new Set(report.problems.map(formatManifestProblem));
    const isChanged =
      next.problems.length !== report.problems.length || next.objects.length !== report.objects.length;
    const fresh = next.problems.filter((problem) => !before.has(formatManifestProblem(problem)));
    for (const problem of fresh) log.warn('manifest problem', { problem: formatManifestProblem(problem) });
    if (isChanged || fresh.length > 0)
      log.info('manifests read', {
        directory,
        files: next.files.length,
        objects: next.objects.length,
        problems: next.problems.length,
      });
    report = next;
  }

  const passes = createPasses(async () => {
    try {
      await pass();
    } catch (error) {
      log.error('reading manifests failed', { directory, error });
      passes.after(retryMs);
    }
  });
  let watch: { stop(): void } | undefined;

  return {
    /** Resolves after the first pass. It never rejects: the report holds the problems. */
    start: async (): Promise<Report> => {
      watch = watchDirectory(directory, log, () => passes.now());
      await passes.now();
      return report;
    },
    report: (): Report => report,
    /** Waits for the current pass; may be called twice. */
    stop: async (): Promise<void> => {
      watch?.stop();
      await passes.stop();
    },
  };
}

function byPlace(a: ManifestProblem, b: ManifestProblem): number {
  return a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1;
}

function storeProblem(file: string, error: unknown): ManifestProblem {
  const message = errorMessage(error);
  return { file, line: 1, column: 1, field: 'store', expected: `able to answer (${message})` };
}

/** Runs one pass at a time. A request during a pass causes one more pass after it. */
function createPasses(pass: () => Promise<void>) {
  let running: Promise<void> | undefined;
  let isWanted = false;
  let isStopped = false;
  let timer: { readonly at: number; readonly handle: NodeJS.Timeout } | undefined;

  async function run(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false;
      clearTimeout(timer?.handle);
      timer = undefined;
      await pass();
    }
    running = undefined;
  }

  function now(): Promise<void> {
    if (isStopped) return Promise.resolve();
    isWanted = true;
    running ??= run();
    return running;
  }

  return {
    /** Resolves when a pass that began after the call has ended. */
    now,
    /** Only the earliest request since the last pass counts, so that passes never multiply. */
    after: (delayMs: number): void => {
      const at = performance.now() + delayMs;
      if (isStopped || (timer && timer.at <= at)) return;
      clearTimeout(timer?.handle);
      timer = { at, handle: setTimeout(() => void now(), delayMs) };
    },
    /** Waits for the current pass; no other pass begins afterwards. */
    stop: async (): Promise<void> => {
      isStopped = true;
      clearTimeout(timer?.handle);
      await running;
    },
  };
}
