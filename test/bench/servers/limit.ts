import { serveBare } from './bare.js';

/** (a) The limit: what no real service can beat on these parts. */
await serveBare(() => {});
