import type { EpochMs } from '../units/time.js';

/** Port: the message that a new funding wallet has to sign, one live per paymaster. Every method throws UNAVAILABLE. */
export type FundingMessages = {
  putFundingMessage(paymasterId: string, message: string, expiresAt: EpochMs): Promise<void>;
  getFundingMessage(paymasterId: string): Promise<string | undefined>;
  /** True once, for the message that is live now; used up by it. */
  consumeFundingMessage(paymasterId: string, message: string): Promise<boolean>;
};
