import { describe } from '@jest/globals';
import { isSoak } from '../support/soak-seconds.js';
import { useStarted } from '../support/use-started.js';
import { planes, startTenantWorld } from './support/tenant-world.js';
import { parserStall } from './tenants/parser-stall.js';
import { tooLargeRevocation } from './tenants/too-large-revocation.js';

// What a tenant attacks with the size of objects, where one process reads them and serves everybody: on manifests. An API server, too,
// by `make soak`.

describe.each(planes.filter((plane) => isSoak || plane === 'standalone'))('on %s', (plane) => {
  const world = useStarted(() => startTenantWorld(plane), 600_000);

  describe('a config that is too large keeps a revoked wallet', () => tooLargeRevocation(world));
  describe('signatures stall the parser', () => parserStall(world));
});
