-- What a gateway writes. Run as roles.sql was, after each `npm run migrate` that the changelog names here.

grant insert, update on tallygate.clients, tallygate.keys to tallygate_gateway;
grant update on tallygate.key_version to tallygate_gateway;
grant insert on tallygate.streams to tallygate_gateway;
-- The prices that it uses, for `doctor`.
grant insert, update, delete on tallygate.gateway_prices, tallygate.price_configurations, tallygate.catalogs
  to tallygate_gateway;
-- What estimates have learned.
grant insert, update on tallygate.estimate_ratios to tallygate_gateway;
-- Tokens, and who changed what.
grant insert, update, delete on tallygate.operator_tokens, tallygate.portal_tokens to tallygate_gateway;
grant insert, update on tallygate.audit to tallygate_gateway;
grant insert on tallygate.audit_changes to tallygate_gateway;
-- Limits, set on the operator's listener, and the calls that they refused.
grant insert, update on tallygate.limits, tallygate.refused_calls, tallygate.refusals to tallygate_gateway;
grant insert on tallygate.limit_changes to tallygate_gateway;
grant insert, update, delete on tallygate.tried_limits to tallygate_gateway;
grant update on tallygate.limit_version to tallygate_gateway;
-- Groups, who is in which, and members who signed in.
grant insert, update on tallygate.groups, tallygate.members to tallygate_gateway;
grant insert, update, delete on tallygate.group_members to tallygate_gateway;
-- The networks that keys are used from.
grant insert, update on tallygate.key_networks to tallygate_gateway;
-- That it runs, with its clock and its connections.
grant insert, update, delete on tallygate.processes to tallygate_gateway;
-- What gateways say of their journals.
grant insert, update, delete on tallygate.gateway_journals to tallygate_gateway;
-- Receivers of alerts, set on the operator's listener, and the alert that no worker runs.
grant insert, update on tallygate.alert_receivers to tallygate_gateway;
grant insert on tallygate.alerts, tallygate.alert_deliveries to tallygate_gateway;
-- That it runs while Redis is away.
grant insert, update on tallygate.cut_off_gateways to tallygate_gateway;
grant insert on tallygate.alert_receiver_changes to tallygate_gateway;
grant update on tallygate.alert_deliveries to tallygate_gateway;
