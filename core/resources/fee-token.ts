import type { FeeTokenSpec } from '../pricing/fee-token-spec.js';
import type { Condition, Resource } from '../meta/meta.js';

export type FeeTokenStatus = {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
};

export type FeeToken = Resource<'FeeToken', FeeTokenSpec, FeeTokenStatus>;
