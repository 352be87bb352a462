import type { EpochMs } from '../units/time.js';

/**
 * Port: texts by name, each until a time, that every replica of the dashboard reads: the message that a new funding wallet has to sign
 * (named by the paymasterId), sessions that were signed out, when a token was last used, answers to an Idempotency-Key, what receivers
 * of notifications were told. Every method throws UNAVAILABLE.
 */
export type KeptTexts = {
  /** Replaces the text of this name. */
  putText(name: string, text: string, expiresAt: EpochMs): Promise<void>;
  /**
   * Puts the text, and answers true, where no live one has this name and fewer than `most` live ones have names that begin with
   * `prefix`. Of calls at the same time one gets true.
   */
  addText(
    name: string,
    text: string,
    expiresAt: EpochMs,
    room: { readonly prefix: string; readonly most: number },
  ): Promise<boolean>;
  /** Undefined when none was put, and after its time. */
  getText(name: string): Promise<string | undefined>;
  /** Those that there are, by name. */
  getTexts(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Removes the text. True exactly once, and only if it is still this one. */
  takeText(name: string, text: string): Promise<boolean>;
};
