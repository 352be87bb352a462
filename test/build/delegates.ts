import type { Delegates } from '../../server/decision/delegates.js';

/** A chain on which no account has a delegate. */
export const noDelegates: Delegates = { of: () => Promise.resolve(undefined) };
