/** What an HTTP request was answered with. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers are as dynamic as the queries that tests write
  readonly body: any;
}

/** Posts JSON and reads JSON. */
export async function post(url: string, payload: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } };
  const response = await fetch(url, { ...init, body: JSON.stringify(payload) });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** A V4 pool's create, with everything that tests look at. */
export const CREATE_PAGED = `mutation CreatePaged($input: CreateV4PagedPoolInput!) {
  createV4PagedPool(input: $input) {
    __typename
    ... on V4PagedHostPool { id name state size availableSlots requestedBytes
      memory { requestedBacking actualBacking fellBack hugepageSize mappedBytes mappings numaNode bytesByNode { node bytes } }
      progress { done residentBytes totalBytes threads } }
    ... on HostPoolError { code message remedies { summary field value } }
    ... on InsufficientHostMemory { requestedBytes availableBytes shortfallBytes maxNumHostPages limitedBy budget rank }
    ... on HostBufferAllocationFailed { reason }
    ... on NameTaken { differs }
    ... on NotFound { unknown: id }
    ... on InvalidArgument { field }
  }
}`;

/** A logical pool's create. */
export const CREATE_LOGICAL = `mutation CreateLogical($input: CreateLogicalHostPoolInput!) {
  createLogicalHostPool(input: $input) {
    __typename
    ... on LogicalHostPool { id size pageSize pageCount availableSlots state }
    ... on HostPoolError { code message remedies { summary field value } }
    ... on NameTaken { differs }
    ... on InvalidArgument { field }
  }
}`;

/** Takes slots. */
export const ALLOCATE_SLOTS = `mutation AllocateSlots($input: AllocateSlotsInput!) {
  allocateSlots(input: $input) {
    __typename
    ... on SlotAllocation { slotCount ranges { start count } }
    ... on HostPoolError { code message remedies { summary field value } }
    ... on PoolExhausted { needSize availableSlots }
    ... on PoolNotReady { state }
    ... on InvalidArgument { field }
  }
}`;

/** Gives slots back. */
export const FREE_SLOTS = `mutation FreeSlots($input: FreeSlotsInput!) {
  freeSlots(input: $input) {
    __typename
    ... on SlotsFreed { slotCount availableSlots }
    ... on HostPoolError { code message remedies { summary field value } }
    ... on DoubleFree { slots count }
    ... on SlotOutOfRange { slot size }
    ... on InvalidArgument { field }
  }
}`;

/** Allocates a host buffer. */
export const ALLOCATE_BUFFER = `mutation AllocateBuffer($input: AllocateHostBufferInput!) {
  allocateHostBuffer(input: $input) {
    __typename
    ... on HostBuffer { id name state requestedBytes memory { actualBacking fellBack mappedBytes } progress { done } }
    ... on HostPoolError { code message remedies { summary field value } }
    ... on HostBufferAllocationFailed { reason numaNode onlineNumaNodes hugepagesNeeded hugepagesFree errno errnoName }
    ... on BudgetExceeded { budget requestedBytes availableBytes limitedBy rank }
    ... on InvalidArgument { field }
  }
}`;

/** Frees a host buffer. */
export const FREE_BUFFER = `mutation FreeBuffer($id: ID!) {
  freeHostBuffer(id: $id) {
    __typename
    ... on HostBufferFreed { id released releasedBytes }
    ... on HostPoolError { code message remedies { summary field value } }
  }
}`;

/** Destroys a pool. */
export const DESTROY_POOL = `mutation DestroyPool($id: ID!) {
  destroyPool(id: $id) {
    __typename
    ... on PoolDestroyed { id name releasedBytes }
    ... on HostPoolError { code message remedies { summary field value } }
  }
}`;

const BUDGET_RESULT = `{
    __typename
    ... on Budget { name requestedBytes fraction effectiveBytes chargedBytes availableBytes ranks admissionClosed overBudget
      rankShares { rank effectiveBytes chargedBytes availableBytes } }
    ... on HostPoolError { code message remedies { summary field value } }
    ... on NameTaken { differs }
    ... on InUse { attachments }
    ... on NotFound { unknown: id }
    ... on InvalidArgument { field }
  }`;

/** Makes a budget. */
export const CREATE_BUDGET = `mutation CreateBudget($input: CreateBudgetInput!) {
  createBudget(input: $input) ${BUDGET_RESULT}
}`;

/** Changes a budget. */
export const UPDATE_BUDGET = `mutation UpdateBudget($input: UpdateBudgetInput!) {
  updateBudget(input: $input) ${BUDGET_RESULT}
}`;

/** Removes a budget. */
export const DELETE_BUDGET = `mutation DeleteBudget($name: String!) {
  deleteBudget(name: $name) ${BUDGET_RESULT}
}`;

const RESERVATION = `... on Reservation {
      id budget rank bytes backing hugepageSize numaNode holder pid state residentBytes createdAt expiresAt
    }
    ... on HostPoolError { code message remedies { summary field value } }
    ... on NotFound { unknown: id }
    ... on InvalidArgument { field }`;

/** Counts memory that somebody else maps. */
export const RESERVE = `mutation Reserve($input: ReserveHostMemoryInput!) {
  reserveHostMemory(input: $input) {
    __typename
    ${RESERVATION}
    ... on BudgetExceeded { budget requestedBytes availableBytes limitedBy rank }
    ... on BudgetAdmissionClosed { budget }
  }
}`;

const RESERVATION_RESULT = `{
    __typename
    ${RESERVATION}
    ... on LeaseExpired { ended: id expiredAt }
  }`;

/** Its holder has faulted it in. */
export const COMMIT = `mutation Commit($id: ID!) { commitReservation(id: $id) ${RESERVATION_RESULT} }`;

/** It lasts longer. */
export const RENEW = `mutation Renew($id: ID!, $ttlSeconds: Int!) {
  renewReservation(id: $id, ttlSeconds: $ttlSeconds) ${RESERVATION_RESULT}
}`;

/** Gives it back. */
export const RELEASE = `mutation Release($id: ID!) { releaseReservation(id: $id) ${RESERVATION_RESULT} }`;

/** What a group of pools would come to. */
export const PLAN_GROUP = `query PlanGroup($input: PoolGroupInput!) {
  planPoolGroup(input: $input) {
    __typename
    ... on PoolGroupPlan {
      fits anchorPages maxAnchorPages requestedBytes mappedBytes mappings availableBytes limitedBy hugepagesNeeded hugepagesFree
      pools { name numHostPages size requestedBytes mappedBytes mappings }
    }
    ... on HostPoolError { code message remedies { summary field value } }
    ... on NotFound { unknown: id }
    ... on InvalidArgument { field }
  }
}`;

/** Makes a group of pools. */
export const CREATE_GROUP = `mutation CreateGroup($input: CreatePoolGroupInput!) {
  createPoolGroup(input: $input) {
    __typename
    ... on PoolGroup {
      anchorPages
      anchor { id name state size pageSize pageCount }
      pools { id name state size pageSize numHostPages requestedBytes budget rank
        memory { requestedBacking actualBacking fellBack mappedBytes mappings } progress { done threads } }
    }
    ... on HostPoolError { code message remedies { summary field value } }
    ... on InsufficientHostMemory {
      poolName requestedBytes mappedBytes availableBytes shortfallBytes maxNumHostPages limitedBy budget rank
    }
    ... on HostBufferAllocationFailed { reason nbytes failedMappedBytes: mappedBytes onlineNumaNodes }
    ... on BudgetAdmissionClosed { closed: budget }
    ... on NameTaken { name differs }
    ... on NotFound { unknown: id }
    ... on InvalidArgument { field }
  }
}`;
