import { describe } from '@jest/globals';
import { isSoak } from '../support/soak-seconds.js';
import { useStarted } from '../support/use-started.js';
import { planes, startTenantWorld } from './support/tenant-world.js';
import { deleteAndRecreate } from './tenants/delete-and-recreate.js';
import { formerTenant } from './tenants/former-tenant.js';

// What a tenant attacks with the names of objects, where names outlive objects in more places: on a real API server. Manifests, too,
// by `make soak`.

describe.each(planes.filter((plane) => isSoak || plane === 'a Kubernetes API server'))('on %s', (plane) => {
  const world = useStarted(() => startTenantWorld(plane), 600_000);

  describe('objects are deleted and created again', () => deleteAndRecreate(world));
  // The last one: the namespace belongs to another tenant from then on.
  describe('names outlive their tenant', () => formerTenant(world));
});
