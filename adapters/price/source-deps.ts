import type { Clock } from '../../core/units/time.js';
import type { Feeds } from './chainlink/feeds.js';
import type { Documents } from './http/documents.js';

/** What sources share: each feed and each document is asked once for all tokens that wait for it. */
export type SourceDeps = {
  readonly feeds: Feeds;
  readonly documents: Documents;
  readonly clock: Clock;
};

/** A price that may be this old when a FeeToken does not say how old. */
export const defaultMaxAgeSeconds = 7_200;
