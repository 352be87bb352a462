import { CallFailed, callFailedBy } from '../call-failed.js';
import type { Clock } from '../../../core/units/time.js';

/** `expiresAt`: epoch in milliseconds; absent: never. */
export type Credentials<T> = { readonly value: T; readonly expiresAt?: number };

export type KeptCredentials<T> = {
  get(): Promise<T>;
  /** The service did not accept them: they are read again. */
  forget(): void;
};

const timeoutMs = 5_000;
/** Read again this long before they expire; until they do, they stay in use when that fails. */
const earlyMs = 5 * 60_000;

/** Reads credentials once for all who need them. */
export function keepCredentials<T>(
  read: (signal: AbortSignal) => Promise<Credentials<T>>,
  clock: Clock,
): KeptCredentials<T> {
  let known: Credentials<T> | undefined;
  let running: Promise<Credentials<T>> | undefined;
  const leftMs = (): number =>
    known === undefined ? -1 : (known.expiresAt ?? Number.POSITIVE_INFINITY) - clock.now();

  async function readOnce(): Promise<Credentials<T>> {
    running ??= read(AbortSignal.timeout(timeoutMs))
      .catch((error: unknown) => {
        const { failure, message } = callFailedBy(error);
        // Without credentials nothing was asked for, whatever has become of this question.
        throw new CallFailed(failure === 'unclear' ? 'unreached' : failure, message, { cause: error });
      })
      .finally(() => (running = undefined));
    known = await running;
    return known;
  }

  return {
    async get() {
      if (known !== undefined && leftMs() > earlyMs) return known.value;
      try {
        return (await readOnce()).value;
      } catch (error) {
        if (known !== undefined && leftMs() > 0) return known.value;
        throw error;
      }
    },
    forget: () => void (known = undefined),
  };
}
