-- Asked by triage: what did services say was broken at their side at some moment of a time window, oldest first?
-- Parameters: since and until (both included, UTC).
-- provider                whose service: github
-- id, name                as the provider calls it
-- impact                  none, minor, major or critical
-- status                  investigating, identified, monitoring, resolved or postmortem
-- components              what was hit, such as Actions
-- started_at, updated_at  UTC
-- resolved_at             UTC; NULL while it lasts
-- html_url                the page about it; '' for none
SELECT provider, id, name, impact, status, components, started_at, resolved_at, updated_at, html_url
FROM buildeye.incident_latest
WHERE started_at <= {until:DateTime64(6, 'UTC')}
    AND (resolved_at IS NULL OR resolved_at >= {since:DateTime64(6, 'UTC')})
ORDER BY started_at, provider, id
