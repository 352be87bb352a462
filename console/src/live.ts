import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { Refused } from './api.js';

/** Set while the server cannot be reached: since when. */
export const lostSince = signal<Date | undefined>(undefined);

const usualMs = 5_000;
const longestMs = 60_000;

export type Live<T> = {
  readonly data?: T;
  readonly error?: string;
  /** Asks at once. */
  readonly reload: () => void;
};

/**
 * Asks again every five seconds, or `everyMs`, while the page is in view, and ever more slowly while the server fails. What it last said stays.
 * `key` names the question: another one begins anew.
 */
export function useLive<T>(key: string, ask: () => Promise<T>, everyMs = usualMs): Live<T> {
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<{ key: string; data?: T; error?: string }>({ key });

  useEffect(() => {
    let isCurrent = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waitMs = everyMs;
    // A new look does not wait for an answer that may never come; only the newest round goes on.
    let newest = 0;
    const round = async (): Promise<void> => {
      // Nobody looks: the next look finds it as it is now.
      if (document.hidden) return;
      const own = (newest += 1);
      const isOvertaken = (): boolean => !isCurrent || own !== newest;
      try {
        const data = await ask();
        lostSince.value = undefined;
        if (isOvertaken()) return;
        waitMs = everyMs;
        setState({ key, data });
      } catch (error) {
        if (isOvertaken()) return;
        waitMs = Math.min(longestMs, waitMs * 2);
        const isRefused = error instanceof Refused;
        if (isRefused) waitMs = Math.max(waitMs, error.retryAfterMs ?? 0);
        if (!isRefused || error.status >= 502) lostSince.value ??= new Date();
        else setState((last) => ({ ...(last.key === key ? last : { key }), error: error.message }));
      }
      timer = setTimeout(() => void round(), waitMs);
    };
    const look = (): void => {
      clearTimeout(timer);
      void round();
    };
    document.addEventListener('visibilitychange', look);
    for (const name of ['online', 'offline']) addEventListener(name, look);
    void round();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
      for (const name of ['online', 'offline']) removeEventListener(name, look);
    };
  }, [key, turn]);

  const { data, error } = state.key === key ? state : {};
  return {
    ...(data === undefined ? {} : { data }),
    ...(error === undefined ? {} : { error }),
    reload: () => setTurn((last) => last + 1),
  };
}
