import { compareVersions } from './resource-version.js';

/** The resourceVersion that a copy has reached, and the callers that wait for a later one. */
export type VersionMark = {
  value(): string | undefined;
  reach(version: string): void;
  /** The server went back to an older state: the version reached so far means nothing any longer. */
  forget(): void;
  /** True when `version` is reached within `timeoutMs`. */
  waitFor(version: string, timeoutMs: number): Promise<boolean>;
};

export function createVersionMark(): VersionMark {
  const waiters = new Set<() => void>();
  let mark: string | undefined;
  const isReached = (version: string): boolean => mark !== undefined && compareVersions(mark, version) >= 0;
  return {
    value: () => mark,
    reach(version) {
      mark = version;
      for (const check of waiters) check();
    },
    forget() {
      mark = undefined;
    },
    waitFor(version, timeoutMs) {
      if (isReached(version)) return Promise.resolve(true);
      return new Promise((resolve) => {
        const finish = (result: boolean): void => {
          clearTimeout(timer);
          waiters.delete(check);
          resolve(result);
        };
        const check = (): void => {
          if (isReached(version)) finish(true);
        };
        const timer = setTimeout(() => finish(false), timeoutMs);
        waiters.add(check);
      });
    },
  };
}
