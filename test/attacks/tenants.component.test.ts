import { describe } from '@jest/globals';
import { useStarted } from '../support/use-started.js';
import { planes, startTenantWorld } from './support/tenant-world.js';
import { deleteAndRecreate } from './tenants/delete-and-recreate.js';
import { formerTenant } from './tenants/former-tenant.js';
import { parserStall } from './tenants/parser-stall.js';
import { tooLargeRevocation } from './tenants/too-large-revocation.js';

// What a tenant attacks with objects alone, on one installation of each kind, since starting one takes longer than most attacks.

describe.each(planes)('on %s', (plane) => {
  const world = useStarted(() => startTenantWorld(plane), 600_000);

  describe('objects are deleted and created again', () => deleteAndRecreate(world));
  describe('a config that is too large keeps a revoked wallet', () => tooLargeRevocation(world));
  describe('signatures stall the parser', () => parserStall(world));
  // The last one: the namespace belongs to another tenant from then on.
  describe('names outlive their tenant', () => formerTenant(world));
});
