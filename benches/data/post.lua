-- Sends one request over and over and prints one line of JSON about it at the end.
--
-- Arguments after `--`: METHOD CONTENT-TYPE BODY-FILE [TOKEN-FILE]. Used by benches/webhook/load.rs.

local function read(path)
	local file = assert(io.open(path, "rb"))
	local text = file:read("*a")
	file:close()
	return text
end

function init(args)
	wrk.method = args[1]
	wrk.headers["Content-Type"] = args[2]
	wrk.body = read(args[3])
	if args[4] then
		wrk.headers["Authorization"] = "Bearer " .. read(args[4])
	end
end

function done(summary, latency)
	local errors = summary.errors
	local hundredths = {}
	for place = 1, 100 do
		hundredths[place] = string.format("%d", latency:percentile(place - 0.5))
	end
	io.write(string.format(
		'{"requests":%d,"microseconds":%d,"median":%d,"p99":%d,"hundredths":[%s],"not_ok":%d,"broken":%d}\n',
		summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
		table.concat(hundredths, ","),
		errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
