import type { FeeTokenSpec } from '../pricing/fee-token-spec.js';
import type { ObservedStatus, Resource } from '../meta/meta.js';

export type FeeTokenStatus = ObservedStatus;

export type FeeToken = Resource<'FeeToken', FeeTokenSpec, FeeTokenStatus>;
