import type { Clock } from '../../core/units/time.js';
import type { Feeds } from './chainlink/feeds.js';
import type { Documents } from './http/documents.js';

/** Shared by all sources: each feed and each document is read once for all tokens that wait for it. */
export type SourceDeps = {
  readonly feeds: Feeds;
  readonly documents: Documents;
  readonly clock: Clock;
};

/** Maximum age of a price when the FeeToken sets none. */
export const defaultMaxAgeSeconds = 7_200;
