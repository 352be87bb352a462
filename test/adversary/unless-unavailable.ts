import { DomainError } from '../../core/errors.js';

/** Undefined where a store or a node does not answer: an outage is not an answer, and breaks no rule. */
export async function unlessUnavailable<T>(
  call: () => Promise<T>,
  told: (reason: string) => void = () => {},
): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'UNAVAILABLE')) throw error;
    told(error.message);
    return undefined;
  }
}
