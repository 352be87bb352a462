-- Health of every kind that people write: the condition Ready says it, once the operator has seen the present spec.
local health = { status = "Progressing", message = "Waiting for the operator" }

local ready = nil
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == "Ready" then
      ready = condition
    end
  end
end
if ready == nil then
  return health
end

local observed = ready.observedGeneration or obj.status.observedGeneration
if observed ~= nil and obj.metadata.generation ~= nil and observed < obj.metadata.generation then
  health.message = "Waiting for the operator to see the last change"
  return health
end

health.message = ready.message
if ready.status == "True" then
  health.status = "Healthy"
elseif ready.reason == "Suspended" or ready.reason == "Paused" then
  health.status = "Suspended"
elseif ready.status == "False" then
  health.status = "Degraded"
end
return health
