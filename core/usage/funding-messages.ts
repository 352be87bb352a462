import type { EpochMs } from '../units/time.js';

/**
 * Port: the message that a new funding wallet has to sign. Each paymaster has one live message. Every method throws
 * UNAVAILABLE.
 */
export type FundingMessages = {
  putFundingMessage(paymasterId: string, message: string, expiresAt: EpochMs): Promise<void>;
  getFundingMessage(paymasterId: string): Promise<string | undefined>;
  /** True exactly once, for the message that is live now; the call uses it up. */
  consumeFundingMessage(paymasterId: string, message: string): Promise<boolean>;
};
