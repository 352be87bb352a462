import type { FeeTokenSpec } from '../pricing/fee-token-spec.js';
import type { FoundStatus, Resource } from '../meta/meta.js';

export type FeeTokenStatus = FoundStatus;

export type FeeToken = Resource<'FeeToken', FeeTokenSpec, FeeTokenStatus>;
