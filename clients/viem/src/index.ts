// What the package offers; everything else is its own affair.
export { createPaymaster, type Paymaster, type PaymasterOptions } from './paymaster.js';
export type { Explanation, ExplanationStep, ExplainOptions } from './explain.js';
export {
  ConnectionError,
  EstimationError,
  InvalidRequestError,
  LimitReachedError,
  NotReadyError,
  PaymasterError,
  RateLimitedError,
  SponsorshipRefusedError,
  TokenPaymentError,
  UnauthorizedError,
  findPaymasterError,
  type RefusedCall,
} from './errors.js';
