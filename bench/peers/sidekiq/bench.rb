# frozen_string_literal: true

# Sidekiq: jobs are popped by BRPOP, so a killed process loses those that it ran.
#
# The protocol is described in bench/peers/README.md.

require "json"
require "optparse"
require "sidekiq"
require "sidekiq/cli"
require "sidekiq/launcher"
begin
  # The faster driver, where it is installed.
  require "redis/connection/hiredis"
rescue LoadError
  nil
end

NUMBER = 12_345
FAILS_EVERY = 5
PRODUCERS = 50
BULK = 1_000
WARM_UP = 20
PICK_UP_PAUSE = 0.005
DUE_WITHIN = 20.0
DUE_LEAD = 2.0
DUE_IN = 5.0
DUE_KEY = "bench:due"
NUMBERED_JOB = 0.02

def clock
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def line(text)
  $stdout.puts(text)
  $stdout.flush
end

def report(result)
  line(JSON.generate(result))
end

def arguments(number = NUMBER)
  ["a string of some length", number, true]
end

def queue_names(count)
  Array.new(count) { |number| number.zero? ? "default" : "queue#{number}" }
end

# The clocks inside the handler.
class Meter
  attr_reader :begun, :ended, :starts

  def initialize(workload, expected, file)
    @workload = workload
    @expected = expected
    @file = file
    @lock = Mutex.new
    @finished = ConditionVariable.new
    @done = 0
    @reruns = 0
    @starts = {}
  end

  # What a job does: all the work of its handler.
  def perform(number)
    case @workload
    when "pickup", "delayed_late"
      # Both clocks: pick-ups are by the one that cannot be set, due times by the other.
      once(number, [clock, Time.now.to_f])
    when "drain_fail"
      @begun ||= clock
      once(number, nil)
      raise "it fails on purpose" if (number % FAILS_EVERY).zero?
    when "numbers"
      sleep NUMBERED_JOB
      @file.syswrite("#{number}\n")
    else
      @begun ||= clock
      @lock.synchronize { add }
    end
  end

  def wait(limit)
    deadline = clock + limit
    @lock.synchronize do
      while @ended.nil? && (left = deadline - clock).positive?
        @finished.wait(@lock, left)
      end
    end
    !@ended.nil?
  end

  # Of a drain that is not over in time, what it came to so far: that is a rate all the same.
  def report_drain(limit)
    wait(limit)
    now = clock
    report({ seconds: (@ended || now) - (@begun || now), jobs: [@done, @expected].min, **rest })
  end

  def report_time_since(since, limit)
    return report_unfinished(limit) unless wait(limit)

    report({ seconds: @ended - since, jobs: @done })
  end

  # The times are asked for when all jobs ran.
  def report_latency(limit)
    return report_unfinished(limit) unless wait(limit)

    seconds = yield.sort
    at = ->(share) { seconds[[(seconds.size * share).ceil - 1, 0].max] * 1000 }
    report({ p50_ms: at.call(0.5), p99_ms: at.call(0.99) })
  end

  # A figure about all jobs cannot be had from a part of them.
  def report_unfinished(limit)
    report({ unsupported: "only #{@done} of #{@expected} jobs had run after #{limit} s" })
  end

  private

  # Counts the first run of each job; further ones are counted apart.
  def once(number, start)
    @lock.synchronize do
      if @starts.key?(number)
        @reruns += 1
      else
        @starts[number] = start
        add
      end
    end
  end

  def add
    @done += 1
    return unless @done == @expected

    @ended = clock
    @finished.signal
  end

  def rest
    rest = {}
    rest[:unfinished] = @expected - @done if @done < @expected
    rest[:reruns] = @reruns if @reruns.positive?
    rest
  end
end

# The job. Its retry is later than the measurement ends.
class NoopJob
  include Sidekiq::Worker
  sidekiq_retry_in { 600 }

  class << self
    attr_accessor :meter
  end

  def perform(_text, number, _flag)
    self.class.meter.perform(number)
  end
end

def push_bulk(jobs, at: nil)
  (0...jobs).each_slice(BULK) do |numbers|
    item = { "class" => NoopJob, "args" => numbers.map { |number| arguments(yield(number)) } }
    item["at"] = at.call(numbers) if at
    Sidekiq::Client.push_bulk(item)
  end
end

def fill(options)
  case options[:workload]
  when "drain" then push_bulk(options[:jobs]) { NUMBER }
  when "drain_fail", "numbers" then push_bulk(options[:jobs]) { |number| number }
  when "delayed_due"
    due = Time.now.to_f + DUE_IN
    push_bulk(options[:jobs], at: ->(numbers) { [due] * numbers.size }) { NUMBER }
    Sidekiq.redis { |redis| redis.set(DUE_KEY, due) }
  end
end

def pushes(options)
  Sidekiq.redis(&:ping)
  line("ready")
  begun = clock
  case options[:workload]
  when "push_1" then options[:jobs].times { NoopJob.perform_async(*arguments) }
  when "push_50"
    threads = Array.new(PRODUCERS) do |producer|
      Thread.new { producer.step(options[:jobs] - 1, PRODUCERS) { NoopJob.perform_async(*arguments) } }
    end
    threads.each(&:join)
  else
    push_bulk(options[:jobs]) { NUMBER }
  end
  report({ seconds: clock - begun, jobs: options[:jobs] })
  stay
end

# When each job of `delayed_late` is due: the same numbers as the other peers draw.
def due_offsets(count)
  state = 42
  Array.new(count) do
    state = ((state * 6_364_136_223_846_793_005) + 1_442_695_040_888_963_407) & 0xffff_ffff_ffff_ffff
    (state >> 33) / (2.0**31) * DUE_WITHIN
  end
end

def pick_ups(options, meter)
  queues = queue_names(options[:queues]).map { |name| NoopJob.set("queue" => name) }
  pushed = Array.new(options[:jobs] + WARM_UP) do |number|
    sleep PICK_UP_PAUSE
    at = clock
    queues[number % queues.size].perform_async(*arguments(number))
    at
  end
  meter.report_latency(options[:limit]) do
    pushed.each_with_index.map { |at, number| meter.starts[number].first - at }.drop(WARM_UP)
  end
end

def lateness(options, meter)
  first = Time.now.to_f + DUE_LEAD
  due = due_offsets(options[:jobs]).map { |offset| first + offset }
  push_bulk(options[:jobs], at: ->(numbers) { due.values_at(*numbers) }) { |number| number }
  meter.report_latency(DUE_LEAD + DUE_WITHIN + options[:limit]) do
    due.each_with_index.map { |at, number| meter.starts[number].last - at }
  end
end

def work(options)
  expected = {
    "pickup" => options[:jobs] + WARM_UP, "idle" => Float::INFINITY, "numbers" => Float::INFINITY
  }.fetch(options[:workload], options[:jobs])
  file = options[:file] && File.open(options[:file], "a")
  meter = NoopJob.meter = Meter.new(options[:workload], expected, file)
  Sidekiq.redis(&:ping)
  launcher = Sidekiq::Launcher.new(Sidekiq.options)

  line("ready")
  launcher.run
  case options[:workload]
  when "pickup" then pick_ups(options, meter)
  when "delayed_late" then lateness(options, meter)
  when "idle", "numbers" then nil
  when "delayed_due"
    due = Sidekiq.redis { |redis| redis.get(DUE_KEY) }.to_f
    meter.report_time_since(clock + due - Time.now.to_f, options[:limit])
  else meter.report_drain(options[:limit])
  end
  stay
end

def stay
  terminated, terminate = IO.pipe
  trap("TERM") { terminate.write_nonblock(".") }
  loop do
    ready, = IO.select([$stdin, terminated])
    break if ready.include?(terminated) || $stdin.read_nonblock(4096, exception: false).nil?
  end
end

def refuse(why)
  line("ready")
  report({ unsupported: why })
  stay
end

def read_options
  options = { mode: "default", jobs: 10_000, concurrency: 10, queues: 1 }
  parser = OptionParser.new do |parse|
    parse.on("--redis URL")
    parse.on("--mode MODE", %w[safe default])
    parse.on("--jobs N", Integer)
    parse.on("--concurrency N", Integer)
    parse.on("--queues N", Integer)
    parse.on("--limit SECONDS", Integer)
    parse.on("--file PATH")
  end
  options[:command], options[:workload] = parser.parse!(ARGV, into: options)
  options[:limit] ||= %w[drain drain_fail].include?(options[:workload]) ? 850 : 60
  options
end

def set_up(options)
  # This client would print a line at each call that Sidekiq makes in its older way.
  Redis.silence_deprecations = true
  Redis.sadd_returns_boolean = false
  Sidekiq.logger.level = Logger::WARN
  # Errors of the jobs that fail on purpose are not written out.
  Sidekiq.options[:error_handlers].clear if options[:workload] == "drain_fail"
  Sidekiq.options[:concurrency] = options[:concurrency]
  queues = queue_names(options[:queues])
  Sidekiq.options[:queues] = queues
  # Queues of equal weight are looked at in random order, as its command line does it.
  Sidekiq.options[:strict] = queues.size == 1
  size = options[:workload] == "push_50" ? PRODUCERS : options[:concurrency] + 5
  Sidekiq.redis = { url: options[:redis], size: size }
end

options = read_options
case options[:command]
when "version" then line("#{Sidekiq::VERSION} (Ruby #{RUBY_VERSION}#{", YJIT" if defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?}, #{Redis::Connection.drivers.last.name.split("::").last})")
when "fill", "run"
  if options[:mode] == "safe"
    refuse("it has no mode that keeps running jobs in Redis: that is in its paid editions") if options[:command] == "run"
  else
    set_up(options)
    if options[:command] == "fill" then fill(options)
    elsif options[:workload].start_with?("push_") then pushes(options)
    else work(options)
    end
  end
else
  abort "expected fill, run or version, found #{options[:command].inspect}"
end
$stdout.flush
# At once: a graceful end would wait for the waits of idle threads.
exit!(0)
